#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs a program beside a private redis-server, whose socket is the program's first argument.
# Usage: with_redis.sh <program> [argument...]
set -euo pipefail
directory=$(mktemp -d)
redis-server --port 0 --unixsocket "$directory/socket" --save '' --appendonly no \
    --dir "$directory" >"$directory/log" 2>&1 &
server=$!
trap 'kill "$server"; wait "$server" || true; rm -rf "$directory"' EXIT

for _ in $(seq 200); do
    if [ -S "$directory/socket" ]; then
        program=$1
        shift
        "$program" "$directory/socket" "$@"
        exit
    fi
    kill -0 "$server" 2>/dev/null || break
    sleep 0.05
done
cat "$directory/log" >&2
exit 1
