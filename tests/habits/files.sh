#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Goal: each C++ file opens with its licence and says what it is, and none bears marks of unfinished
# work. Method: read them.
set -euo pipefail
export LC_ALL=C
cd "$1"

{ find include src tests examples bench tool -name '*.[ch]pp' -print0 2>/dev/null || true; } |
    xargs -0r awk "$(cat <<'AWK'
function complain(text) { print FILENAME ": " text; bad = 1 }
function exists(path,    line, found) {
    found = (getline line < path) >= 0
    close(path)
    return found
}
# A source need not repeat what its header says, beside it or among the public ones.
function has_header(    beside, public) {
    if (FILENAME !~ /\.cpp$/) return 0
    beside = FILENAME
    sub(/\.cpp$/, ".hpp", beside)
    public = beside
    sub(/.*\//, "include/mortise/", public)
    return exists(beside) || exists(public)
}
FNR == 1 && $0 != "// SPDX-License-Identifier: MIT" { complain("line 1 is not the SPDX line") }
FNR == 2 && !/^\/\/ [^ ]/ && !has_header() { complain("line 2 does not say what the file is") }
/TO[D]O|FIX[M]E|(^|[^X])XX[X]([^X]|$)/ { complain("line " FNR " bears a mark of unfinished work") }
END { exit bad }
AWK
)"
