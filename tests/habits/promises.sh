#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Goal: each promise of docs/promises.md has a test, and docs/promises-tests.md lists them as they are.
# Method: a test that stands for a promise has a line `// Promise: S1` above it (or `S1, L2`). The page
# is made of those lines anew, and compared.
# Usage: promises.sh <root> [--write]
set -euo pipefail
export LC_ALL=C
cd "$1"
page=docs/promises-tests.md
made=$(mktemp)
trap 'rm -f "$made"' EXIT

# Prints "<promise> <test> <file>" for each mark.
marks() {
    # shellcheck disable=SC2016 # $ belongs to awk
    { grep -rlE '^ *// Promise:' tests --include='*.[ch]pp' || true; } | sort | xargs -r awk '
    function complain(text) { print FILENAME ":" FNR ": " text >"/dev/stderr"; bad = 1 }
    FNR == 1 && promises != "" { print last ": a promise without a test" >"/dev/stderr"; bad = 1 }
    FNR == 1 { promises = text = "" }
    { last = FILENAME }
    /^ *\/\/ Promise:/ {
        promises = $0
        sub(/^ *\/\/ Promise: */, "", promises)
        if (promises !~ /^(S[1-9]|L[1-9]|O[1-4]|N[1-2]|M1)(, (S[1-9]|L[1-9]|O[1-4]|N[1-2]|M1))*$/) complain("no promises: " promises)
        text = ""
        next
    }
    promises == "" { next }
    {
        text = text $0
        if (match(text, /^([A-Z]+_)*TEST(_F|_P)?\( *[A-Za-z0-9_]+, *[A-Za-z0-9_]+ *[,)]/)) {
            test = substr(text, RSTART, RLENGTH - 1)
            gsub(/^[A-Z_]+\(| /, "", test)
            sub(/,/, ".", test)
            count = split(promises, each, ", ")
            for (i = 1; i <= count; i++) print each[i], test, FILENAME
        } else if (text !~ /\)/ && text ~ /^([A-Z]+_)*TEST/) next  # the name goes on in the next line
        else complain("a promise without a test")
        promises = text = ""
    }
    END {
        if (promises != "") { print last ": a promise without a test" >"/dev/stderr"; bad = 1 }
        exit bad
    }'
}

marks | sort -k1,1 -k3,3 -s | awk '
function complain(text) { print "docs/promises.md: " text >"/dev/stderr"; bad = 1 }
FILENAME == "-" { tests[$1] = tests[$1] "| `" $2 "` | [" $3 "](../" $3 ") |\n"; next }
match($0, /^\| \*\*(S[1-9]|L[1-9]|O[1-4]|N[1-2]|M1)\*\* \| /) {
    promise = substr($0, 5, 2)
    words[promise] = substr($0, RLENGTH + 1)
    sub(/ \|$/, "", words[promise])
}
END {
    print "# The tests of each promise\n"
    print "Made by `./dev docs` of the lines `// Promise:` in `tests`: do not edit. [promises.md](promises.md) says"
    print "what is assumed, and how the promises are tested."
    split("S1 S2 S3 S4 S5 S6 S7 S8 S9 L1 L2 L3 L4 L5 L6 L7 L8 L9 O1 O2 O3 O4 N1 N2 M1", promises, " ")
    for (i = 1; i in promises; i++) {
        each = promises[i]
        if (!(each in words)) complain(each " is not there")
        if (!(each in tests)) complain(each " has no test")
        printf "\n## %s\n\n%s\n\n| test | file |\n|---|---|\n%s", each, words[each], tests[each]
    }
    exit bad
}' - docs/promises.md >"$made"

if [ "${2:-}" = --write ]; then
    cp --no-preserve=mode "$made" "$page"
elif ! diff -u "$page" "$made"; then
    echo "$page: is not what the tests say; ./dev docs makes it anew"
    exit 1
fi
