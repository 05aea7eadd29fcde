#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Goal: the code in README.md, in that of the examples and in the pages for users is code that compiles. Method: a ```cpp
# block that follows a line
#   <!-- snippet: examples/quickstart.cpp#region -->
# is equal to the lines between `// [region]` and `// [/region]` of that file, without their common
# indentation. A block without such a line is an error.
set -euo pipefail
export LC_ALL=C
cd "$1"

pages=(README.md)
for page in examples/README.md docs/*.md docs/*/*.md; do [ ! -f "$page" ] || pages+=("$page"); done
awk '
function complain(text) { print FILENAME ":" FNR ": " text; bad = 1 }
function dedent(text,    lines, count, i, indent, least, result) {
    count = split(text, lines, "\n") - 1
    least = 1000
    for (i = 1; i <= count; i++) {
        match(lines[i], /^ */)
        if (lines[i] != "" && RLENGTH < least) least = RLENGTH
    }
    for (i = 1; i <= count; i++) result = result substr(lines[i], least + 1) "\n"
    return result
}
function region(file, name,    line, text, inside, found) {
    while ((getline line < file) > 0) {
        if (line ~ "^ *// \\[/" name "\\]$") inside = 0
        else if (inside) text = text line "\n"
        if (line ~ "^ *// \\[" name "\\]$") inside = found = 1
    }
    close(file)
    if (!found) complain("no region [" name "] in " file)
    else if (inside) complain("region [" name "] of " file " does not end")
    return dedent(text)
}
/^<!-- snippet: [^#]+#[A-Za-z0-9_]+ -->$/ { source = $3; next }
/^```cpp$/ { inside = 1; block = ""; if (source == "") complain("a block without its snippet line"); next }
inside && /^```$/ {
    inside = 0
    if (source != "") {
        split(source, part, "#")
        if (block != region(part[1], part[2])) complain("the block above is not " source)
        compared++
    }
    source = ""
    next
}
inside { block = block $0 "\n"; next }
source != "" && !/^$/ { complain("no ```cpp block follows the line of " source); source = "" }
END {
    if (!compared) complain("no block was compared")
    exit bad
}' "${pages[@]}"
