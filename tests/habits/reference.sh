#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Goal: docs/reference.md has every option, error code and capability, with its type and its default, and
# nothing that is gone. Method: read the structs that end with "Options", `Errc` and `Capabilities` from the
# public headers; the page has a row for each, which begins as the header says and has no empty cell.
# (The answers of the stores, and which errors are worth another try, a unit test compares.)
# Usage: reference.sh <root of the source tree>
# shellcheck disable=SC2016 # what looks like a command is Markdown's
set -euo pipefail
export LC_ALL=C
cd "$1"

# Prints, for each field, "<struct> <beginning of its row>".
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
    # A default as people say it.
    function said(type, value) {
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
        print in_struct " | `" name "` | `" type "` | " said(type, value) " |"
    }
    BEGIN { unit["seconds"] = "s"; unit["minutes"] = "min"; unit["hours"] = "h" }
    /^struct [A-Za-z]*(Options|Capabilities) \{$/ { in_struct = $2; statement = ""; next }
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

# Prints the same for the rows of the page. A table belongs to the heading above it, whose first word names
# the struct.
rows_of_page() {
    awk '
    /^#+ / {
        name = $2
        gsub(/`/, "", name)
        if (name == "Error") name = "Errc"
        next
    }
    /^\| `/ {
        cells = split($0, cell, /[ ]*\|[ ]*/)
        shown = name == "Errc" || name == "Capabilities" ? 2 : 4
        for (i = 2; i < cells; i++) if (cell[i] == "") print name " an empty cell: " $0
        line = name " |"
        for (i = 2; i <= shown; i++) line = line " " cell[i] " |"
        print line
    }' docs/reference.md
}

headers=$(rows_of_headers)
page=$(rows_of_page)
bad=0
while read -r row; do
    echo "docs/reference.md: it lacks: $row"
    bad=1
done < <(comm -23 <(sort <<<"$headers") <(sort <<<"$page"))
while read -r row; do
    echo "docs/reference.md: no header has: $row"
    bad=1
done < <(comm -13 <(sort <<<"$headers") <(sort <<<"$page"))
for name in ClientOptions Errc Capabilities; do
    grep -q "^$name | " <<<"$headers" || { echo "no row of $name was read from the headers"; bad=1; }
done
exit "$bad"
