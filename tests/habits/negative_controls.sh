#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Goal: the checks of this folder can fail. Method: a small tree that keeps every rule passes them
# all; then each rule is broken once, and its check has to fail and to name the culprit.
# Usage: negative_controls.sh <scratch folder> <C++ compiler>
# shellcheck disable=SC2016 # what looks like a command is Markdown's
set -euo pipefail
export LC_ALL=C
checks=$(cd "$(dirname "$0")" && pwd)
scratch=$1
compiler=$2
failures=0

good_tree() {
    rm -rf "$scratch"
    mkdir -p "$scratch"/{include/mortise,src/base,src/core,src/runtime,src/remote,src/redis,src/file,tests/unit,tests/habits,examples/own_backend,docs}
    cd "$scratch"
    write include/mortise/lock.hpp '#include <string>' '#define MORTISE_API' 'namespace mortise {' 'namespace core {' \
        'class Terms;' '}  // namespace core' 'class MORTISE_API Lock {};' '}  // namespace mortise' 'using mortise::Lock;'
    write src/base/name.hpp '#include <mortise/lock.hpp>' '#include <unistd.h>'
    write src/core/lease.hpp '#include "base/name.hpp"' '#include <chrono>'
    write src/runtime/engine.hpp '#include "core/lease.hpp"' '#include <thread>'
    write src/remote/link.hpp '#include "runtime/engine.hpp"'
    write src/redis/link.cpp '#include "remote/link.hpp"' '#include <hiredis/hiredis.h>'
    write src/file/store.hpp '#include "runtime/engine.hpp"'
    write src/client_url.cpp '#include "file/store.hpp"' '    {"memory", &memory::backend},'
    write examples/quickstart.cpp 'int main() {' '  // [lock]' '  int a = 1;' '  // [/lock]' '}'
    write tests/unit/all_test.cpp \
        '// Promise: S1, S2, S3, S4, S5, S6, S7, S8, S9, O1, O2, O3, O4, N1, N2, M1' 'TEST(Lock,' '     Excludes) {}' \
        '// Promise: L1, L2, L3, L4, L5, L6, L7, L8, L9' 'TEST_P(Fifo, Turns) {}'
    local promise
    for promise in S{1..9} L{1..9} O{1..4} N1 N2 M1; do echo "| **$promise** | what |"; done >docs/promises.md
    bash "$checks/promises.sh" "$scratch" --write
    printf '%s\n' '<!-- snippet: examples/quickstart.cpp#lock -->' '```cpp' 'int a = 1;' '```' \
        "## A [lock](docs/promises.md), and \`a\`" '[above](#a-lock-and-a), [tests](tests/PROMISES.md#s1)' >README.md
    cp README.md examples/README.md
    sed -i "s|docs/|../docs/|; s|tests/|../tests/|" examples/README.md
    mkdir -p packaging/vcpkg/ports/mortise tool
    write include/mortise/version.hpp '#define MORTISE_VERSION_MAJOR 1' \
        '#define MORTISE_VERSION_MINOR 20' '#define MORTISE_VERSION_PATCH 3'
    echo '"version-semver": "1.20.3",' >packaging/vcpkg/ports/mortise/vcpkg.json
    echo '.TH MORTISE 1 2026-11-27 "mortise 1.20.3"' >tool/mortise.1
    # One hit, and much that is none: code, headings, questions, places.
    printf '%s\n' '## Who holds it' 'Who holds `nobody`? The page says where the file is.' '```text' 'told, too' '```' \
        '| what | where |' '|---|---|' '| [Who waits](promises.md) | a store told it |' >docs/words.md
    write src/base/words.hpp 'const char* words = "told"; // Nobody waits.' 'int told = 10'"'"'000; // said'
    printf '%s\n' '# limits' 'src/base 2' >tests/habits/english.txt
    write include/mortise/options.hpp '#pragma once' '#include <chrono>' 'namespace mortise {' \
        'struct ClientOptions {' "  std::chrono::milliseconds give_up{10'000};  ///< when it fails" '};' \
        'enum class Errc {' '  timeout = 1,  ///< held' '};' 'struct Capabilities {' '  bool fair = false;' '};' '}'
    write include/mortise/mortise.hpp '#pragma once' '#include <mortise/lock.hpp>' '#include <mortise/options.hpp>' \
        '#include <mortise/version.hpp>'
    write include/mortise/backend.hpp '#pragma once' '#include <mortise/options.hpp>'
    printf '%s user\n' lock mortise options version >tests/habits/public_headers.txt
    echo 'backend author' >>tests/habits/public_headers.txt
    write examples/own_backend/board.hpp '#include <mortise/backend.hpp>'
    printf '%s\n' '### ClientOptions' '| field | type | default | why |' '|---|---|---|---|' \
        '| `give_up` | `milliseconds` | 10 s | sooner |' '## Error codes' '| `timeout` | yes | wait |' \
        '## Capabilities' '| `fair` | turns | no |' '## Calls' '| take it | `Lock lock;` | `Lock` |' \
        '## URLs' '| `memory:` | tests |' >docs/reference.md
    write tests/habits/calls.hpp '#include <mortise/lock.hpp>' 'namespace calls {}'
    write tests/habits/traps.cpp '[[nodiscard]] int made();' 'void f() {' '  int a = 1;  // trap: unused' \
        '  made();  // trap: nodiscard' '}'
    mkdir -p tests/habits/guesses tests/contract
    write tests/contract/core_guesses_test.cpp "$(seq -f '// t%02g' 2 77)"
    write tests/habits/guesses/refused.cpp '#include <mortise/mortise.hpp>' '// t01: no' '// says: held' \
        'void t01(Lock& lock) { lock.held(); }' '// clang-format on'
}

# write <file> <line>...: a file that opens as every file does.
write() {
    local file=$1
    shift
    printf '%s\n' '// SPDX-License-Identifier: MIT' '// A file of this tree.' "$@" >"$file"
}

passes() { # <check>
    local output
    if ! output=$(bash "$checks/$1.sh" "$scratch" "$compiler" 2>&1); then
        printf '%s refuses a good tree:\n%s\n' "$1" "$output"
        failures=$((failures + 1))
    fi
}

fails() { # <check> <words of its complaint>; then the tree is good again
    local output
    if output=$(bash "$checks/$1.sh" "$scratch" "$compiler" 2>&1); then
        echo "$1 passes although: $2"
        failures=$((failures + 1))
    elif [[ $output != *"$2"* ]]; then
        printf '%s fails for another reason than: %s\n%s\n' "$1" "$2" "$output"
        failures=$((failures + 1))
    fi
    good_tree
}

good_tree
for check in layering files snippets links promises version reference english public_headers traps guesses; do passes "$check"; done

write src/core/lease.hpp '#include "runtime/engine.hpp"'
fails layering 'src/core/lease.hpp:3: runtime/engine.hpp is above'
write src/remote/link.hpp '#include "redis/link.cpp"'
fails layering 'src/remote/link.hpp:3: redis/link.cpp is above'
write src/runtime/engine.hpp '#include "remote/link.hpp"'
fails layering 'src/runtime/engine.hpp:3: remote/link.hpp is above'
write src/file/store.hpp '#  include "redis/link.cpp"'
fails layering 'src/file/store.hpp:3: redis/link.cpp is beside'
write src/file/store.cpp '#include "runtime/engine.hpp"' '#include "file/store.hpp"'
fails layering 'src/file/store.cpp:3: the header beside it, file/store.hpp, comes first'
write src/core/lease.hpp '#include <mutex>'
fails layering 'src/core/lease.hpp:3: src/core is pure'
write src/core/lease.hpp '#include <sys/socket.h>'
fails layering 'src/core/lease.hpp:3: src/core is pure'
write src/core/lease.hpp 'auto now = std::chrono::steady_clock::now();'
fails layering 'src/core/lease.hpp:3: src/core is handed the time'
write include/mortise/lock.hpp '#include <sys/types.h>'
fails layering 'include/mortise/lock.hpp:3: a public header includes the standard library only'
write include/mortise/lock.hpp '#include "base/name.hpp"'
fails layering 'include/mortise/lock.hpp:3: a public header includes the standard library only'
write src/base/name.hpp '#include "mortise/lock.hpp"'
fails layering 'src/base/name.hpp:3: write <mortise/lock.hpp>'
write src/base/name.hpp '#include <mortise/gone.hpp>'
fails layering 'src/base/name.hpp:3: no such public header'
write src/base/name.hpp '#include "other.hpp"'
fails layering 'src/base/name.hpp:3: name "other.hpp" from the root'
write src/redis/second.cpp '#include <hiredis/read.h>'
fails layering 'only one file in src/redis touches hiredis'
write src/stray.cpp '#include <string>'
fails layering 'src/stray.cpp:3: every source lies in a folder'
write examples/quickstart.cpp '#include "base/name.hpp"'
fails layering 'examples/quickstart.cpp:3: an example sees public headers only'

echo '#include <string>' >src/base/name.hpp
fails files 'src/base/name.hpp: line 1 is not the SPDX line'
printf '// SPDX-License-Identifier: MIT\n\nint a;\n' >src/base/name.hpp
fails files 'src/base/name.hpp: line 2 does not say what the file is'
write src/base/name.hpp "// $(printf 'TO%s' 'DO') later"
fails files 'src/base/name.hpp: line 3 bears a mark'

sed -i 's/int a = 1/int a = 2/' README.md
fails snippets 'the block above is not examples/quickstart.cpp#lock'
sed -i 's/#lock/#gone/' README.md
fails snippets 'no region [gone]'
sed -i 1d README.md
fails snippets 'a block without its snippet line'
: >README.md
rm examples/README.md
fails snippets 'no block was compared'
sed -i 's/int a = 1/int a = 2/' examples/README.md
fails snippets 'examples/README.md:4: the block above is not'
sed 's/int a = 1/int a = 2/' README.md >docs/faq.md
fails snippets 'docs/faq.md:4: the block above is not'

sed -i 's|docs/promises.md|docs/gone.md|' README.md
fails links 'README.md: no such file: docs/gone.md'
sed -i 's|PROMISES.md#s1|PROMISES.md#s10|' examples/README.md
fails links 'examples/README.md: no such heading: ../tests/PROMISES.md#s10'
sed -i 's|#a-lock-and-a|#a-lock|' README.md
fails links 'README.md: no such heading: #a-lock'

echo 'struct Lock { void held() {} };' >include/mortise/mortise.hpp
fails guesses 'guess t01 compiles'
sed -i 's/says: held/says: owned/' tests/habits/guesses/refused.cpp
fails guesses 'fewer than 1 errors say: owned'
sed -i /t02/d tests/contract/core_guesses_test.cpp
fails guesses 'guess t02 is in 0 places'
echo 'struct Lock' >include/mortise/mortise.hpp
fails guesses 'the headers do not compile'

english() { # <page> <sentence> <complaint>: one hit more than the page may have
    echo "$2" >>"$1"
    fails english "$3"
}
english docs/words.md 'Whoever waits is next.' 'docs/words.md: 2 hits in 19 words, at most 1'
english docs/words.md 'It waits. What is free is granted.' 'docs/words.md:9: pattern 1:'
english docs/words.md 'Of those who wait one is next.' 'docs/words.md:9: pattern 1:'
english docs/words.md 'It returns null where nothing is held.' 'docs/words.md:9: pattern 3:'
english docs/words.md 'Nobody waits.' 'docs/words.md:9: pattern 4:'
english docs/words.md 'A waiter hears of it.' 'docs/words.md:9: pattern 5:'
english docs/words.md 'It is lost, also if the server is there.' 'docs/words.md:9: pattern 8:'
english include/mortise/backend.hpp '/// Told, and told.' 'include/mortise/backend.hpp: 2 hits'
english src/base/words.hpp '// Heard.' 'src/base: 3 hits in its comments, at most 2'
english src/base/words.sql 'SELECT '"'--'"'; -- Heard.' 'src/base: 3 hits in its comments, at most 2'
echo 'src/base 9' >tests/habits/english.txt
fails english 'src/base: 2 hits in its comments, tests/habits/english.txt allows 9'
bash "$checks/english.sh" "$scratch" --write
grep -qx 'src/base 2' tests/habits/english.txt || { echo 'english --write does not lower a limit' && failures=$((failures + 1)); }
good_tree

sed -i 's/_MINOR 20/_MINOR 21/' include/mortise/version.hpp
fails version 'vcpkg.json: its version is not 1.21.3'
sed -i 's/1.20.3/1.20.30/' tool/mortise.1
fails version 'tool/mortise.1: its version is not 1.20.3'

sed -i 's/Excludes/Includes/' tests/unit/all_test.cpp
fails promises 'tests/PROMISES.md: does not match the tests'
sed -i 's/ L4,//' tests/unit/all_test.cpp
fails promises 'L4 has no test'
sed -i 's/ L4,/ L0,/' tests/unit/all_test.cpp
fails promises 'tests/unit/all_test.cpp:6: not a list of promises: L1, L2, L3, L0'
sed -i '/TEST_P/d' tests/unit/all_test.cpp
fails promises 'tests/unit/all_test.cpp: no test follows this promise'
sed -i 's/TEST_P.*/int turns;/' tests/unit/all_test.cpp
fails promises 'tests/unit/all_test.cpp:7: no test follows this promise'
sed -i '/L4/d' docs/promises.md
fails promises 'L4 is missing from the page'

sed -i '/give_up/d' docs/reference.md
fails reference 'it lacks: ClientOptions | `give_up` | `milliseconds` | 10 s |'
sed -i "s/10'000/1'500/" include/mortise/options.hpp
fails reference 'it lacks: ClientOptions | `give_up` | `milliseconds` | 1,500 ms |'
sed -i 's/^  timeout = 1,/  held = 2,\n&/' include/mortise/options.hpp
fails reference 'it lacks: Errc | `held` |'
sed -i 's/bool fair = false;/bool just{};/' include/mortise/options.hpp
fails reference 'the sources do not have: Capabilities | `fair` |'
sed -i 's/10 s | sooner |/10 s | |/' docs/reference.md
fails reference 'an empty cell'
sed -i 's/struct ClientOptions/class ClientOptions/' include/mortise/options.hpp
fails reference 'no row of ClientOptions was read'
echo '    {"file", &file::backend},' >>src/client_url.cpp
fails reference 'it lacks: scheme `file:`'
sed -i '/"memory"/d' src/client_url.cpp
fails reference 'the sources do not have: scheme `memory:`'
echo 'class MORTISE_API Guard {' >>include/mortise/lock.hpp
fails reference 'it lacks: class `Guard`'
sed -i 's/`Lock lock;`/`Locks lock;`/' docs/reference.md
fails reference 'a call does not compile'

echo '#include <mortise/backend.hpp>' >>include/mortise/options.hpp
fails public_headers 'mortise.hpp includes backend.hpp, which is not for users'
sed -i '/lock.hpp/d' include/mortise/mortise.hpp
fails public_headers 'mortise.hpp does not include lock.hpp'
write include/mortise/gone.hpp 'int a;'
fails public_headers 'include/mortise/gone.hpp: tests/habits/public_headers.txt does not say for whom'
rm include/mortise/version.hpp && sed -i '/version.hpp/d' include/mortise/mortise.hpp
fails public_headers 'there is no include/mortise/version.hpp'
echo 'lock author' >>tests/habits/public_headers.txt
fails public_headers 'backend.hpp does not include lock.hpp'
echo '#include <mortise/lock.hpp>' >>examples/own_backend/board.hpp
fails public_headers 'needs mortise.hpp and backend.hpp alone'
write include/mortise/lock.hpp '#define MORTISE_API' 'namespace mortise {' 'namespace core {' 'class MORTISE_API Terms {};' \
    '}  // namespace core' '}  // namespace mortise'
fails public_headers 'include/mortise/lock.hpp:6: MORTISE_API in an internal namespace'
write include/mortise/lock.hpp '#define MORTISE_API' 'namespace mortise::runtime {' 'MORTISE_API void start();' \
    '}  // namespace mortise::runtime'
fails public_headers 'include/mortise/lock.hpp:5: MORTISE_API in an internal namespace'

sed -i 's/\[\[nodiscard\]\] //' tests/habits/traps.cpp
fails traps 'tests/habits/traps.cpp:6: no warning with "nodiscard"'
sed -i 's|  // trap: unused||' tests/habits/traps.cpp
fails traps 'tests/habits/traps.cpp:5: a warning of what is right'
echo 'int f() }' >>tests/habits/traps.cpp
fails traps 'does not compile'

# The subjects of commits, in a repository of their own.
in_git() { git -c user.name=a -c user.email=a@b -c commit.gpgsign=false "$@"; }
commit() { in_git commit -q --allow-empty -m "$1"; }
history_on() { # <branch>: a long subject on main, a good one behind it, and then the branch
    git init -q -b main
    commit "$(printf 'word %.0s' {1..20})"
    commit 'file: check the inode after locking'
    [ "$1" = main ] || git checkout -q -b "$1"
}
long=$(printf 'x%.0s' {1..73})
history_on main
passes subjects
commit "$long"
fails subjects '73 characters, at most 72'
history_on a-change
commit "${long%xx}ü"
passes subjects
commit "$long"
commit 'file: a good one behind it'
fails subjects '73 characters, at most 72'
history_on main
git update-ref refs/remotes/origin/main HEAD
commit "$long"
commit 'file: a good one behind it'
fails subjects '73 characters, at most 72'

# A library whose internals are visible, because nobody hid them.
cat >hidden.cpp <<'CODE'
#define MORTISE_API __attribute__((visibility("default")))
namespace mortise {
struct MORTISE_API Lock { void lock(); };
void Lock::lock() {}
namespace core { void lease() {} }
void helper() {}
}
CODE
"$compiler" -shared -fPIC -fvisibility=hidden hidden.cpp -o hidden.so
"$compiler" -shared -fPIC hidden.cpp -o visible.so
bash "$checks/exported_symbols.sh" "$scratch" hidden.so || failures=$((failures + 1))
for culprit in 'mortise::core::lease()' 'mortise::helper()'; do
    if complaint=$(bash "$checks/exported_symbols.sh" "$scratch" visible.so) ||
        [[ $complaint != *"exports $culprit"* ]]; then
        echo "exported_symbols does not complain about $culprit"
        failures=$((failures + 1))
    fi
done

# A class of a room below that implements an interface of the runtime's, without an include of it; and
# two backends of which one calls the other.
object() { # <source under src/> <code>
    mkdir -p "lib.dir/$(dirname "$1")"
    printf '%s\n' "$2" >code.cpp
    "$compiler" -c code.cpp -o "lib.dir/$1.o"
    echo "$scratch/lib.dir/./$1.o" # as CMake writes it
}
objects_fail() { # <check> <words of its complaint>
    local output
    if output=$(bash "$checks/$1.sh" objects.txt 2>&1) || [[ $output != *"$2"* ]]; then
        printf '%s does not complain about: %s\n%s\n' "$1" "$2" "$output"
        failures=$((failures + 1))
    fi
}
symbols_fail() { # <words of its complaint>
    objects_fail symbols "$1"
}
interface='struct Host { virtual ~Host(); };'
cd "$scratch"
{
    object src/runtime/host.cpp "$interface Host::~Host() = default; inline int both() { return 1; } int a() { return both(); }"
    object src/remote/one_shot.cpp "$interface struct OneShot : Host {}; inline int both() { return 1; } int b() { OneShot it; return both(); }"
    object src/redis/redis.cpp 'int b(); int c() { return b(); }'
    object src/client_url.cpp 'int c(); int d() { return c(); }'
} >good.txt
cp good.txt objects.txt
bash "$checks/symbols.sh" objects.txt || failures=$((failures + 1))
object src/base/one_shot.cpp "$interface struct OneShot : Host {}; int e() { OneShot it; return 1; }" >>objects.txt
symbols_fail 'src/base/one_shot.cpp: Host::~Host() is above, in runtime'
cp good.txt objects.txt
object src/file/file.cpp 'int c(); int f() { return c(); }' >>objects.txt
symbols_fail 'src/file/file.cpp: c() is beside, in redis'
cp good.txt objects.txt
object src/redis/redis.cpp 'int d(); int c() { return d(); }' >>objects.txt
symbols_fail 'src/redis/redis.cpp: d() is above, in the umbrella'

# What a forked child would wait for.
cp good.txt objects.txt
bash "$checks/first_use.sh" objects.txt || failures=$((failures + 1))
object src/file/file.cpp 'int c(); int f() { static const int made = c(); return made; }' >>objects.txt
objects_fail first_use 'src/file/file.cpp: something is made on first use'
cp good.txt objects.txt
object src/file/file.cpp 'struct Ends { ~Ends(); }; Ends ends;' >>objects.txt
objects_fail first_use 'src/file/file.cpp: something is destroyed at the end'

rm -rf "$scratch"
exit $((failures > 0))
