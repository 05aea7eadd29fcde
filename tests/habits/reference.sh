#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Goal: docs/reference.md has every option, error code, capability, class and scheme of a URL, and no others;
# and its one-line calls compile.
# Method: read the structs that end with "Options", `Errc` and `Capabilities` from the public headers. The page
# has a row for each field, with its type and its default, and without an empty cell. Read the schemes from
# src/client_url.cpp, and the classes from the headers for users. Then compile each statement of "Calls".
# (A unit test compares the page with the answers of the stores and with is_retryable().)
# Usage: reference.sh <root of the source tree> [<C++ compiler>]
# shellcheck disable=SC2016 # what looks like a command is Markdown's
set -euo pipefail
export LC_ALL=C
cd "$1"
compiler=${2:-c++}

# Prints "<struct> | <beginning of its row>" for each field.
rows_of_headers() {
    awk '
    function trimmed(text) { sub(/^[ \t]+/, "", text); sub(/[ \t]+$/, "", text); return text }
    function grouped(digits,    result) {
        while (length(digits) > 3) {
            result = "," substr(digits, length(digits) - 2) result
            digits = substr(digits, 1, length(digits) - 3)
        }
        return digits result
    }
    function milliseconds(count) {
        return count % 1000 ? grouped(count) " ms" : grouped(count / 1000 "") " s"
    }
    # A default as the page writes it.
    function shown(type, value) {
        value = trimmed(value)
        gsub(/\047/, "", value)
        if (value == "") return "empty"
        if (match(value, /^std::chrono::(milliseconds|seconds|minutes|hours)\([0-9]+\)$/)) {
            split(value, part, /::|\(|\)/)
            return part[3] == "milliseconds" ? milliseconds(part[4]) : grouped(part[4]) " " unit[part[3]]
        }
        if (value ~ /milliseconds::max\(\)$/) return "no limit"
        if (value ~ /^[0-9]+$/ && type == "milliseconds") return milliseconds(value)
        if (value ~ /^[0-9]+$/) return grouped(value)
        gsub(/std::(chrono::)?/, "", value)
        gsub(/ +/, " ", value)
        return "`" value "`"
    }
    function field(text,    at, name, type, value) {
        if (text ~ /\)( const)?( noexcept)?$/ && text !~ /[={]/) return  # a function
        if (match(text, / = /)) {
            value = substr(text, RSTART + 3)
            text = substr(text, 1, RSTART - 1)
        } else if (match(text, /[a-z_]\{.*\}$/)) {
            value = substr(text, RSTART + 2, RLENGTH - 3)
            text = substr(text, 1, RSTART)
        }
        text = trimmed(text)
        match(text, /[A-Za-z_0-9]+$/)
        name = substr(text, RSTART)
        type = trimmed(substr(text, 1, RSTART - 1))
        gsub(/std::(chrono::)?/, "", type)
        if (type ~ /^TimeOption<.*>$/) type = substr(type, 12, length(type) - 12)
        print in_struct " | `" name "` | `" type "` | " shown(type, value) " |"
    }
    BEGIN { unit["seconds"] = "s"; unit["minutes"] = "min"; unit["hours"] = "h" }
    /^struct [A-Za-z]*(Options|Capabilities)( : [A-Za-z]+)? \{$/ {
        in_struct = $2 == "StoreCapabilities" ? "Capabilities" : $2
        statement = ""
        next
    }
    /^enum class Errc/ { in_struct = "Errc"; next }
    /^};/ { in_struct = ""; next }
    in_struct == "" { next }
    { sub(/\/\/.*/, "") }
    in_struct == "Errc" {
        if (match($0, /[a-z_]+/)) print "Errc | `" substr($0, RSTART, RLENGTH) "` |"
        next
    }
    {
        statement = trimmed(statement " " trimmed($0))
        if (statement !~ /;$/) next
        sub(/;$/, "", statement)
        field(statement)
        statement = ""
    }' include/mortise/*.hpp | sed -E 's/^(Capabilities \| `[a-z_]+` \|).*/\1/'
}

# Prints the same for the rows of the page. The first word of the heading above a table names the struct.
rows_of_page() {
    awk '
    /^#+ / {
        name = $2
        gsub(/`/, "", name)
        if (name == "Error") name = "Errc"
        next
    }
    name !~ /(Options|Capabilities|Errc)$/ { next }
    /^\| `/ {
        cells = split($0, cell, /[ ]*\|[ ]*/)
        shown = name == "Errc" || name == "Capabilities" ? 2 : 4
        for (i = 2; i < cells; i++) if (cell[i] == "") print name " an empty cell: " $0
        line = name " |"
        for (i = 2; i <= shown; i++) line = line " " cell[i] " |"
        print line
    }' docs/reference.md
}

schemes_of_code() { sed -nE 's/^ *\{"([a-z+]+)", .*/scheme `\1:`/p' src/client_url.cpp; }

schemes_of_page() {
    awk -F'|' '/^## / { here = $0 == "## URLs" } here && /^\| `/ { print $2 }' docs/reference.md |
        grep -oE '`[a-z+]+:`' | sed 's/^/scheme /' || true
}

# Prints the classes that a user of locks can name, each as "class `<name>`".
classes_of_headers() {
    local header
    while read -r header; do
        sed -nE 's/^class (MORTISE_[A-Z_]+ )+([A-Za-z]+).*\{$/class `\2`/p' "include/mortise/$header.hpp"
    done < <(awk '!/^#/ && $2 == "user" { print $1 }' tests/habits/public_headers.txt)
}

classes_on_page() {
    local name
    while read -r _ name; do
        ! grep -qF -- "$name" docs/reference.md || echo "class $name"
    done < <(classes_of_headers)
}

# Prints a program with the statements of the table "Calls": each row is a function, and each statement of a row
# is in the scope of the one before it. calls.hpp declares the names that they use.
calls_of_page() {
    printf '#include "calls.hpp"\nnamespace calls {\n'
    awk -F'|' '
    /^## / { here = $0 == "## Calls" }
    here && /^\| / && $3 ~ /`/ {
        count = split($3, span, "`")
        printf "void row%d() {\n#line %d \"docs/reference.md\"\n", NR, NR
        for (i = 2; i <= count; i += 2) if (span[i] ~ /;$/) { printf "{ %s ", span[i]; closing = closing " }" }
        print closing "\n}"
        closing = ""
    }' docs/reference.md
    echo '}'
}

bad=0
complain() {
    echo "$*"
    bad=1
}
headers=$(rows_of_headers; schemes_of_code; classes_of_headers)
page=$(rows_of_page; schemes_of_page; classes_on_page)
while read -r row; do
    complain "docs/reference.md: it lacks: $row"
done < <(comm -23 <(sort <<<"$headers") <(sort <<<"$page"))
while read -r row; do
    complain "docs/reference.md: the sources do not have: $row"
done < <(comm -13 <(sort <<<"$headers") <(sort <<<"$page"))
for name in ClientOptions Errc Capabilities; do
    grep -q "^$name | " <<<"$headers" || complain "no row of $name was read from the headers"
done
messages=$(calls_of_page |
    "$compiler" -std=c++20 -Iinclude -Itests/habits -Wall -Wno-unused -fsyntax-only -x c++ - 2>&1) ||
    complain "docs/reference.md: a call does not compile: $messages"
exit "$bad"
