#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Goal: docs/promises.md names tests that exist, and at least one for each promise. Method: collect
# the test macros of tests/, and look up each `Suite.Test` of the page. The lines of a promise begin
# with its name (in a table cell, heading, list item or paragraph) and end where the next one begins.
set -euo pipefail
export LC_ALL=C
cd "$1"

find tests -name '*.[ch]pp' -exec cat {} + | tr -s ' \n\t' ' ' |
    grep -oE '\b(TYPED_)?TEST(_F|_P)?\( ?[A-Za-z0-9_]+, ?[A-Za-z0-9_]+ ?\)' |
    sed -E 's/.*\( ?([A-Za-z0-9_]+), ?([A-Za-z0-9_]+) ?\)/\1.\2/' |
    awk '
function complain(text) { print "docs/promises.md: " text; bad = 1 }
FILENAME == "-" { exists[$0] = 1; next }
match($0, /^[-#*| ]*(S[1-9]|L[1-8])([^A-Za-z0-9]|$)/) {
    promise = substr($0, 1, RLENGTH)
    gsub(/[^SL0-9]/, "", promise)
}
{
    rest = $0
    while (match(rest, /`[A-Z][A-Za-z0-9_]*\.[A-Z][A-Za-z0-9_]*`/)) {
        name = substr(rest, RSTART + 1, RLENGTH - 2)
        rest = substr(rest, RSTART + RLENGTH)
        if (name in exists) tests[promise]++
        else complain("line " FNR ": no such test: " name)
    }
}
END {
    split("S1 S2 S3 S4 S5 S6 S7 S8 S9 L1 L2 L3 L4 L5 L6 L7 L8", promises, " ")
    for (i = 1; i in promises; i++)
        if (!tests[promises[i]]) complain(promises[i] " names no test")
    exit bad
}' - docs/promises.md
