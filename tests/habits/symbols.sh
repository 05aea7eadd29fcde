#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Goal: what points down is not only the includes: no room of src/ refers to a function, a variable or a
# virtual table that a room above it defines, or one beside it. (A class that implements an interface of
# the public headers refers to the room where that has its virtual table, and includes nothing of it.)
# Method: nm over the objects of the library, each in the folder of its source. What many objects
# define, as inline functions, belongs to nobody.
# Usage: symbols.sh <file with the paths of the objects, one a line>
set -euo pipefail
export LC_ALL=C
. "$(dirname "$0")/floors.sh"

# Others are of generated sources.
mapfile -t objects < <(grep -E '\.dir/(\./)?src/' "$1")
[ ${#objects[@]} -gt 0 ] || { echo "no objects of src/ in $1"; exit 1; }

complaints=$(nm --print-file-name --format=posix "${objects[@]}" | awk '
function room_of(path,    part, count) {
    sub(/.*\.dir\/(\.\/)?src\//, "", path)
    count = split(path, part, "/")
    return count == 1 ? "the umbrella" : part[1]
}
function floor_of(room) {
    if (room == "the umbrella") return ENVIRON["umbrella_floor"] + 0
    return room in floors ? floors[room] : ENVIRON["backend_floor"] + 0
}
BEGIN {
    count = split(ENVIRON["house_floors"], pairs, " ")
    for (i = 1; i <= count; i++) { split(pairs[i], pair, "="); floors[pair[1]] = pair[2] + 0 }
}
{
    path = $1; sub(/:$/, "", path)
    room = room_of(path)
}
$3 ~ /^[TDBRGS]$/ { home[$2] = room }
$3 == "U" { uses[room SUBSEP $2] = path }
END {
    for (use in uses) {
        split(use, part, SUBSEP)
        if (!(part[2] in home)) continue
        from = floor_of(part[1]); to = floor_of(home[part[2]])
        where = uses[use]; sub(/.*\.dir\/(\.\/)?src\//, "src/", where); sub(/\.o$/, "", where)
        if (to > from) print where ": " part[2] " is above, in " home[part[2]]
        else if (to == from && part[1] != home[part[2]]) print where ": " part[2] " is beside, in " home[part[2]]
    }
}' | sort | c++filt)

if [ -n "$complaints" ]; then
    echo "$complaints"
    exit 1
fi
