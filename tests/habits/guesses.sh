#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Goal: a guess of a new user that is not supported does not compile, and the compiler says what the library's
# sentence says. Method: one compiler run over guesses/refused.cpp, in which each guess has to have an error;
# every guess is there, or in core_guesses_test.cpp, which runs it.
# Usage: guesses.sh <source tree> <compiler>...
set -euo pipefail
export LC_ALL=C
cd "$1"
shift
guesses=77
refused=tests/habits/guesses/refused.cpp
run=tests/contract/core_guesses_test.cpp
bad=0
complain() {
    echo "$1"
    bad=1
}

for number in $(seq -f '%02g' 1 "$guesses"); do
    places=$( (grep -oE "^// t$number:" "$refused" || true; grep -oE "// t$number\\b" "$run" || true) | wc -l)
    [ "$places" -eq 1 ] || complain "guess t$number is in $places places, not in one"
done

# Prints "<guess> <line of its first line> <line behind its last>" and, of one with words, "<guess> says <words>".
table=$(awk '
    /^\/\/ [tu][0-9][0-9]:/ { if (guess) print guess, first, NR; guess = substr($2, 1, 3); first = NR }
    /^\/\/ says: / { print guess, "says", substr($0, 10) }
    /clang-format on/ { print guess, first, NR; guess = "" }' "$refused")

messages=$(mktemp)
trap 'rm -f "$messages"' EXIT
for compiler in "$@"; do
    options=(-std=c++20 -Wall -Wno-unused -Werror=unused-result -Iinclude -fsyntax-only)
    case $compiler in *clang*) options+=(-ferror-limit=0 -Werror=reorder-init-list) ;; esac
    if ! "$compiler" "${options[@]}" -x c++ - <<<'#include <mortise/mortise.hpp>' >"$messages" 2>&1; then
        # The compiler of the build compiles the headers; the other one may have no library for them.
        [ "$compiler" != "$1" ] || complain "$compiler: the headers do not compile: $(cat "$messages")"
        continue
    fi
    if "$compiler" "${options[@]}" "$refused" >"$messages" 2>&1; then complain "$compiler: all of it compiles"; fi
    while read -r guess first behind; do
        [ "$first" != says ] || continue
        # An error in a header has a note that names the guess's line.
        awk -v first="$first" -v behind="$behind" -v file="$refused" '
            match($0, file ":[0-9]+") && /error|required from here|requested here|expansion of/ {
                line = substr($0, RSTART + length(file) + 1, RLENGTH - length(file) - 1) + 0
                if (line >= first && line < behind) found = 1
            }
            END { exit !found }' "$messages" || complain "$compiler: guess $guess compiles"
    done <<<"$table"
    while read -r count words; do
        [ "$(grep -E 'error|warning' "$messages" | grep -cF -- "$words")" -ge "$count" ] ||
            complain "$compiler: fewer than $count errors say: $words"
    done < <(sed -n 's/^[tu][0-9]* says //p' <<<"$table" | sort | uniq -c)
done
exit "$bad"
