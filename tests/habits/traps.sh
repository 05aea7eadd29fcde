#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Goal: a compiler warns of a program that looks as if it locked, and does not. Method: traps.cpp has such
# programs, each line with the words of its warning, and right ones without; each compiler that is
# installed reads it with -Wall, and has to warn of those lines and of no other.
# Usage: traps.sh <root of the source tree> <C++ compiler>
set -euo pipefail
export LC_ALL=C
cd "$1"
source=tests/habits/traps.cpp
compilers=("$2")
for other in g++ clang++; do
    if command -v "$other" >/dev/null; then compilers+=("$other"); fi
done

bad=0
seen=' '
for compiler in "${compilers[@]}"; do
    name=$("$compiler" --version | sed -n '1s|^c++ |g++ |; 1p')
    [[ $seen != *" $name "* ]] || continue
    seen+="$name "
    if ! output=$("$compiler" -std=c++20 -Wall -fsyntax-only -I include "$source" 2>&1); then
        printf '%s: %s does not compile:\n%s\n' "$name" "$source" "$output"
        bad=1
        continue
    fi
    if ! awk -v source="$source" -v compiler="$name" '
        function complain(text) { print compiler ": " source ":" text; bad = 1 }
        FILENAME == "-" && match($0, /:[0-9]+:[0-9]+: warning: /) {
            split($0, part, ":")
            if (part[1] != source) { complain("0: a warning from elsewhere: " $0); next }
            words[part[2]] = words[part[2]] $0
            next
        }
        FILENAME != "-" {
            trap = ""
            if (match($0, /\/\/ trap: /)) { trap = substr($0, RSTART + RLENGTH); traps++ }
            if (trap != "" && index(words[FNR], trap) == 0) complain(FNR ": no warning with \"" trap "\": " words[FNR])
            if (trap == "" && FNR in words) complain(FNR ": a warning of what is right: " words[FNR])
        }
        END { if (!traps) complain("0: there is no trap"); exit bad }' - "$source" <<<"$output"; then
        bad=1
    fi
done
exit "$bad"
