#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Goal: includes point down only, as src/README.md draws the floors, and public headers need nothing
# but the standard library. Method: read the #include lines; the floor of a file is that of its folder.
set -euo pipefail
export LC_ALL=C
. "$(dirname "$0")/floors.sh"
cd "$1"

standard_list='
    algorithm any array atomic barrier bit bitset cassert cctype cerrno cfenv cfloat charconv chrono
    cinttypes climits clocale cmath codecvt compare complex concepts condition_variable coroutine
    csetjmp csignal cstdarg cstddef cstdint cstdio cstdlib cstring ctime cuchar cwchar cwctype deque
    exception execution filesystem format forward_list fstream functional future initializer_list
    iomanip ios iosfwd iostream istream iterator latch limits list locale map memory memory_resource
    mutex new numbers numeric optional ostream queue random ranges ratio regex scoped_allocator
    semaphore set shared_mutex source_location span sstream stack stdexcept stop_token streambuf
    string string_view syncstream system_error thread tuple type_traits typeindex typeinfo
    unordered_map unordered_set utility valarray variant vector version'
# What the pure floor may not have although it is standard.
impure_list='
    thread mutex shared_mutex condition_variable semaphore latch barrier future filesystem fstream
    iostream csignal ctime'

# Prints file:line:<header> or file:line:"header" for every include of the C++ files below $@.
includes() {
    { find "$@" -name '*.[ch]pp' -exec grep -nHE '^[[:space:]]*#[[:space:]]*include' {} + 2>/dev/null || true; } |
        sed -E 's/^([^:]*:[0-9]+:)[^<"]*(<[^>]*>|"[^"]*").*/\1\2/'
}

{
    includes include src examples
    # The pure floor reads no clock and never sleeps, whatever it includes.
    grep -rnE 'clock_gettime|[cC]lock::now\(|sleep_(for|until)' src/core --include='*.[ch]pp' |
        awk -F: '{print "clock:" $1 ":" $2}' || true
} | standard_list="$standard_list" impure_list="$impure_list" awk '
function complain(text) { print place ": " text; bad = 1 }
function folder_of(path) { sub(/\/[^\/]*$/, "", path); return path }
function floor_of(path) {
    if (path ~ /^include\//) return 0
    if (path == "src/client_url.cpp") return ENVIRON["umbrella_floor"] + 0
    if (path !~ /^src\/[^\/]+\//) return -1
    split(path, part, "/")
    return part[2] in floors ? floors[part[2]] : ENVIRON["backend_floor"] + 0
}
BEGIN {
    split(ENVIRON["standard_list"], names, " "); for (i in names) standard[names[i]] = 1
    split(ENVIRON["impure_list"], names, " "); for (i in names) impure[names[i]] = 1
    count = split(ENVIRON["house_floors"], pairs, " ")
    for (i = 1; i <= count; i++) { split(pairs[i], pair, "="); floors[pair[1]] = pair[2] + 0 }
}
{
    split($0, field, ":")
    if (field[1] == "clock") {
        place = field[2] ":" field[3]
        complain("src/core is handed the time; it reads no clock and does not sleep")
        next
    }
    first = field[1] != file
    file = field[1]; place = file ":" field[2]
    quoted = field[3] ~ /^"/
    header = substr(field[3], 2, length(field[3]) - 2)
    public = header ~ /^mortise\//
}
first && file ~ /^src\/.*\.cpp$/ {
    # What comes first compiles without help: the habit headers_compile_alone counts on it.
    beside = file; sub(/\.cpp$/, ".hpp", beside)
    own = beside; sub(/^src\//, "", own)
    if ((getline line < beside) >= 0 && header != own) complain("the header beside it, " own ", comes first")
    close(beside)
}
public {
    if (quoted) complain("write <" header ">")
    if ((getline line < ("include/" header)) < 0) complain("no such public header: " header)
    close("include/" header)
    next
}
file ~ /^examples\// {
    if (quoted && header ~ /\//) complain("an example sees public headers only, not " header)
    next
}
file ~ /^include\// {
    # An adapter for a library that the program has.
    if (file ~ /\/(boost_)?asio\.hpp$/ && header ~ /^(asio|boost\/(asio|system\/error_code))\.hpp$/) next
    if (quoted || !(header in standard)) complain("a public header includes the standard library only, not " header)
    next
}
floor_of(file) < 0 { complain("every source lies in a folder of src/, which gives it its floor"); next }
!quoted {
    if (file ~ /^src\/core\// && (header in impure || !(header in standard)))
        complain("src/core is pure: no thread, socket, sleep or clock, so not <" header ">")
    # One file in each backend touches a C library (its first path element, or the header itself), and the parts of
    # that file: pq_conninfo.cpp, where there is a pq.hpp.
    if (header ~ /^(hiredis|openssl|zookeeper|libpq|postgresql)/) {
        split(header, part, /[\/.]/)
        user = file; sub(/\.[ch]pp$/, "", user)
        whole = user; sub(/_[a-z_]+$/, "", whole)
        if ((getline line < (whole ".hpp")) >= 0) user = whole
        close(whole ".hpp")
        library = folder_of(file) " " part[1]
        if (library in users && users[library] != user)
            complain("only one file in " folder_of(file) " touches " part[1] ": " users[library] ".*")
        users[library] = user
    }
    next
}
{
    if (header !~ /\//) { complain("name \"" header "\" from the root of src/"); next }
    target = "src/" header
    if ((getline line < target) < 0) { complain("no such private header: " header); next }
    close(target)
    from = floor_of(file); to = floor_of(target)
    # The folders of the runtime are one layer, and those of redis.
    split(file, part, "/"); split(target, other, "/")
    one = part[2] == other[2] && part[2] ~ /^(runtime|redis)$/
    if (to > from) complain(header " is above")
    # A folder inside another one may use that one.
    else if (!one && to == from && index(folder_of(file) "/", folder_of(target) "/") != 1)
        complain(header " is beside, on the same floor")
}
END { exit bad }'
