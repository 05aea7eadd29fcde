#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Goal: a user of locks reads and compiles the headers for users, and none that only authors of backends
# need. Method: public_headers.txt names the reader of each header. The compiler says which headers
# mortise.hpp and backend.hpp include; that is compared with the table. The example of an own backend
# includes these two alone. A shared library exports nothing of the internal namespaces: no header marks a name
# there with MORTISE_API (package.exported_symbols looks at the library, but in the full run only).
# Usage: public_headers.sh <root of the source tree> <C++ compiler>
set -euo pipefail
export LC_ALL=C
cd "$1"
compiler=$2
table=tests/habits/public_headers.txt

bad=0
complain() {
    echo "$*"
    bad=1
}

headers_for() { # <reader>...: the headers of these readers, by the table
    local reader
    for reader; do awk -v reader="$reader" '!/^#/ && $2 == reader { print $1 }' "$table"; done | sort
}

reached_from() { # <header>: the public headers that it includes, and itself
    "$compiler" -std=c++20 -I include -M -x c++ "include/mortise/$1.hpp" |
        grep -oE 'include/mortise/[a-z_/]+\.hpp' | sed -E 's|include/mortise/||; s|\.hpp$||' | sort -u
}

while read -r name; do
    complain "include/mortise/$name.hpp: $table does not say for whom it is"
done < <(comm -13 <(headers_for user author store kit) <(find include/mortise -name '*.hpp' -printf '%P\n' | sed 's/\.hpp$//' | sort))
while read -r name; do
    complain "$table: there is no include/mortise/$name.hpp"
done < <(comm -23 <(headers_for user author store kit) <(find include/mortise -name '*.hpp' -printf '%P\n' | sed 's/\.hpp$//' | sort))

from_mortise=$(reached_from mortise)
while read -r name; do
    complain "mortise.hpp includes $name.hpp, which is not for users of locks"
done < <(comm -13 <(headers_for user) <(echo "$from_mortise"))
while read -r name; do
    complain "mortise.hpp does not include $name.hpp, which is for users of locks"
done < <(comm -23 <(headers_for user) <(echo "$from_mortise"))
while read -r name; do
    complain "backend.hpp does not include $name.hpp, which is for authors of backends"
done < <(comm -23 <(headers_for author) <(reached_from backend))

while read -r place; do
    complain "$place: an author of a backend needs mortise.hpp and backend.hpp alone"
done < <(grep -nE '#include <mortise/' examples/own_backend/*.[ch]pp | grep -vE '<mortise/(mortise|backend)\.hpp>')

while read -r place; do
    complain "$place: MORTISE_API in an internal namespace"
done < <(find include/mortise -name '*.hpp' -exec awk '
    FNR == 1 { depth = 0; inside = 0 }
    {
        line = $0
        sub(/\/\/.*/, "", line)
        gsub(/"[^"]*"/, "", line)
        if (!inside && line ~ /^(inline )?namespace ([a-z]+::)*(base|core|runtime)[ :{]/) { inside = 1; around = depth }
        depth += gsub(/\{/, "", line) - gsub(/\}/, "", line)
        if (inside && depth <= around) inside = 0
        if (inside && line ~ /MORTISE_API/) print FILENAME ":" FNR
    }' {} +)
exit "$bad"
