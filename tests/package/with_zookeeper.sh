#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs a program beside a private ZooKeeper, whose port is the program's argument.
# Usage: with_zookeeper.sh <program>
set -euo pipefail
directory=$(mktemp -d)
server=
trap 'if [ -n "$server" ]; then kill "$server"; wait "$server" || true; fi; rm -rf "$directory"' EXIT

for try in 1 2 3; do
    port=$((20000 + RANDOM % 10000))
    cat >"$directory/zoo.cfg" <<CONFIG
tickTime=500
dataDir=$directory/data$try
clientPort=$port
clientPortAddress=127.0.0.1
admin.enableServer=false
CONFIG
    java -cp /usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar -Xmx128m \
        org.apache.zookeeper.server.quorum.QuorumPeerMain "$directory/zoo.cfg" \
        >"$directory/log" 2>&1 &
    server=$!
    for _ in $(seq 200); do
        kill -0 "$server" 2>/dev/null || break
        if (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
            "$1" "$port"
            exit 0
        fi
        sleep 0.1
    done
    # Somebody else has the port.
    kill "$server" 2>/dev/null || true
    wait "$server" || true
    server=
done
cat "$directory/log" >&2
exit 1
