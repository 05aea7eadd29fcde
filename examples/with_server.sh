#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Starts a private server, and runs a program with the URL of this server as its first argument.
# Usage: with_server.sh <socket|redis|redlock|zookeeper|postgres> <program> [argument...]
# `redlock` starts three Redis servers. `socket` starts one Redis server, and the argument is the path of
# its socket.
set -euo pipefail
kind=$1
program=$2
shift 2
directory=$(mktemp -d)
servers=()
trap 'kill "${servers[@]}"; wait || true; rm -rf "$directory"' EXIT

# within_10_s <log> <condition...>: waits for the condition while the newest server lives.
within_10_s() {
    local log=$1
    shift
    for _ in $(seq 200); do
        if "$@" 2>/dev/null; then return; fi
        kill -0 "${servers[-1]}" 2>/dev/null || break
        sleep 0.05
    done
    cat "$log" >&2
    return 1
}

start_redis() { # <name>
    redis-server --port 0 --unixsocket "$directory/$1" --save '' --appendonly no \
        --dir "$directory" >"$directory/$1.log" 2>&1 &
    servers+=($!)
    within_10_s "$directory/$1.log" test -S "$directory/$1"
}

listens() { (: <"/dev/tcp/127.0.0.1/$1"); }

start_zookeeper() {
    local jars=/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar
    for _ in 1 2 3; do # another program may use the port
        port=$((20000 + RANDOM % 10000))
        printf '%s\n' "dataDir=$directory/data$port" "clientPort=$port" tickTime=500 \
            clientPortAddress=127.0.0.1 admin.enableServer=false >"$directory/zoo.cfg"
        java -Xmx256m -cp "$jars" org.apache.zookeeper.server.quorum.QuorumPeerMain \
            "$directory/zoo.cfg" >"$directory/log" 2>&1 &
        servers+=($!)
        if within_10_s "$directory/log" listens "$port"; then return; fi
        unset 'servers[-1]'
    done
    return 1
}

start_postgres() { # PostgreSQL refuses to run as root
    local bin as=()
    bin=$(find /usr/lib/postgresql -path '*/bin/initdb' | sort -V | tail -n 1 | xargs dirname)
    if [ "$(id -u)" -eq 0 ]; then
        chown postgres "$directory"
        as=(setpriv --reuid=postgres --regid=postgres --clear-groups)
    fi
    "${as[@]}" "$bin/initdb" --pgdata="$directory/data" --username=shop --auth=trust --no-sync \
        >"$directory/log"
    "${as[@]}" "$bin/postgres" -D "$directory/data" -k "$directory" -c listen_addresses= \
        >>"$directory/log" 2>&1 &
    servers+=($!)
    within_10_s "$directory/log" grep -q 'ready to accept connections' "$directory/log"
}

case $kind in
    socket) start_redis socket && where=$directory/socket ;;
    redis) start_redis socket && where=redis+unix://$directory/socket ;;
    redlock)
        for name in a b c; do start_redis "$name"; done
        where=redlock+unix://$directory/a,$directory/b,$directory/c
        ;;
    zookeeper) start_zookeeper && where="zookeeper://127.0.0.1:$port/locks?session=2s&margin=250ms" ;;
    postgres) start_postgres && where="postgresql:///postgres?host=$directory&user=shop" ;;
    *) echo "no such server: $kind" >&2 && exit 2 ;;
esac
"$program" "$where" "$@"
