#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Goal: a forked child asks for no lock that a thread it has not got may have held. What is made on first
# use stands behind such a lock, and so does the note that something is to be destroyed at the end of the
# program, whenever that is written. Method: nm over the objects of the library: only the sources below
# make anything on first use (when the library is loaded, or while no thread may fork), and none but
# error.cpp has something destroyed at the end (noted when it is loaded).
# Usage: first_use.sh <file with the paths of the objects, one a line>
set -euo pipefail
export LC_ALL=C
made_on_first_use='^src/(base/(fork|clock)|memory/memory_backend)\.cpp'
destroyed_at_the_end='^src/base/error\.cpp'

mapfile -t objects < <(grep -E '\.dir/(\./)?src/' "$1")
[ ${#objects[@]} -gt 0 ] || { echo "no objects of src/ in $1"; exit 1; }

uses() { # <symbol>
    nm --print-file-name --undefined-only --format=posix "${objects[@]}" |
        sed -nE "s|.*\.dir/(\./)?(src/.*)\.o: $1 U.*|\2|p"
}
complaints=$(
    uses __cxa_guard_acquire | grep -vE "$made_on_first_use" | sed 's/$/: something is made on first use/'
    uses __cxa_atexit | grep -vE "$destroyed_at_the_end" | sed 's/$/: something is destroyed at the end/'
) || true
if [ -n "$complaints" ]; then
    echo "$complaints"
    exit 1
fi
