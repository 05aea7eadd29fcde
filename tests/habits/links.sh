#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Goal: the links between our pages lead somewhere. Method: for each [words](target) of a page that is no
# address, look for the file beside the page, and for the heading behind a '#', as GitHub names it.
# shellcheck disable=SC2016 # what looks like a command is Markdown's
set -euo pipefail
export LC_ALL=C.UTF-8
cd "$1"

# The headings of a page, as anchors: lower case, without marks, with dashes.
anchors() {
    sed -E '/^ *```/,/^ *```/d; /^#+ /!d; s/^#+ +//; s/\[([^]]*)\]\([^)]*\)/\1/g' "$1" |
        tr '[:upper:]' '[:lower:]' | sed -E 's/[^a-z0-9 _-]//g; s/ /-/g'
}

bad=0
complain() {
    echo "$1: $2"
    bad=1
}

# The pages that Git knows, where it is there; all of them in a tree without it.
pages() {
    git ls-files --cached --others --exclude-standard -- '*.md' 2>/dev/null |
        grep . || find . -name '*.md' -not -path './build/*' | sed 's|^\./||'
}

while read -r page; do
    while read -r target; do
        case $target in http://* | https://* | mailto:*) continue ;; esac
        file=$(dirname "$page")/${target%%#*}
        [ -n "${target%%#*}" ] || file=$page
        if [ ! -e "$file" ]; then
            complain "$page" "no such file: $target"
        elif [[ $target == *#* ]] && [[ $file == *.md ]] && ! anchors "$file" | grep -qxF -- "${target#*#}"; then
            complain "$page" "no such heading: $target"
        fi
    done < <(sed -E '/^ *```/,/^ *```/d; s/`[^`]*`//g' "$page" | grep -oE '\]\([^) ]+\)' | sed -E 's/^\]\(//; s/\)$//')
done < <(pages | sort)
exit "$bad"
