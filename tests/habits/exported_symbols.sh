#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Goal: a shared library exports what public headers mark MORTISE_API, and nothing else: no internals,
# no instantiations of std templates. Method: strip each dynamic symbol down to the class or function
# it belongs to, and look that up among the marked names.
# Usage: exported_symbols.sh <root> <library>...
set -euo pipefail
export LC_ALL=C
root=$1
shift

marked=$(find "$root/include/mortise" -name '*.hpp' -exec sed -nE \
    -e 's/.*\b(class|struct) (MORTISE_WARN_UNUSED )?MORTISE_API ([A-Za-z0-9_]+).*/\3/p' \
    -e 's/.*\bMORTISE_API .*\b([a-z_0-9]+)\(.*/\1/p' {} + | sort -u)

for library in "$@"; do
    symbols=$(nm -D --defined-only "$library" | awk '{print $NF}' | c++filt)
    [ -n "$symbols" ] || { echo "$library: exports nothing"; exit 1; }
    library="${library##*/}" marked="$marked" awk '
    BEGIN { library = ENVIRON["library"]; split(ENVIRON["marked"], names, "\n"); for (i in names) marked[names[i]] = 1 }
    {
        name = $0
        sub(/@.*/, "", name)
        sub(/^(vtable|VTT|typeinfo|typeinfo name|guard variable|non-virtual thunk|virtual thunk) (for|to) /, "", name)
        sub(/[(<\[].*/, "", name)
        ok = name ~ /^mortise::/ && name !~ /^mortise::(base|core|runtime)::/
        count = split(name, part, "::")
        found = 0
        for (i = 2; i <= count; i++) if (part[i] in marked) found = 1
        if (!ok || !found) { print library ": exports " $0; bad = 1 }
    }
    END { exit bad }' <<<"$symbols" || bad=1
done
exit "${bad:-0}"
