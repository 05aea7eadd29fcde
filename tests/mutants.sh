#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Which test finds which deliberate mistake first? Runs the tests of the mutant's component with
# MORTISE_MUTANT set, until one is red, and prints a table. The simulation is asked by ./dev simulate mutants.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
    cat <<'TEXT'
usage: tests/mutants.sh [--rest] [--seconds N] [--jobs N] <mutant or component>...

  --rest         if the short run is green, also run what `./dev test rest` has of the component
  --seconds N    give up on a mutant after this time (default: 300)
  --jobs N       how many of ctest's jobs run at once (default: as ./dev test)

  tests/mutants.sh redlock.majority_is_one_too_few
  tests/mutants.sh --rest memory zookeeper

Needs a build of the preset `dev` (./dev test). A component stands for all of its mutants.
TEXT
}

rest='' seconds=300 jobs=()
while [ $# -gt 0 ]; do
    case $1 in
        --rest) rest=yes ;;
        --seconds) seconds=${2:?how many seconds?}; shift ;;
        --jobs) jobs=(-j "${2:?how many jobs?}"); shift ;;
        -h | --help) usage; exit 0 ;;
        -*) usage >&2; exit 2 ;;
        *) break ;;
    esac
    shift
done
[ $# -gt 0 ] || { usage >&2; exit 2; }

known=$(grep -rhoE 'mutant\("[a-z]+\.[a-z_.0-9]+"' src | cut -d '"' -f 2 | sort -u)
mutants=()
for each in "$@"; do
    if grep -qxF "$each" <<<"$known"; then
        mutants+=("$each")
    elif found=$(grep -E "^$each\." <<<"$known"); then
        mapfile -t -O "${#mutants[@]}" mutants <<<"$found"
    else
        echo "no such mutant or component: $each" >&2
        exit 2
    fi
done

# The labels of the tests that a mutant of this component may show in. All stores share the core.
labels_of() {
    case $1 in
        core) echo '^(core|memory|redis)$' ;;
        memory) echo '^(memory|core)$' ;;
        *) echo "^$1\$" ;;
    esac
}

# run <test preset> <mutant> <seconds>: prints the test that is red first, or nothing. A test that does not end
# in ctest's time is red.
run() {
    MORTISE_MUTANT=$2 timeout --kill-after=20 "$3" \
        ctest --preset "$1" "${jobs[@]}" -L "$(labels_of "${2%%.*}")" --stop-on-failure 2>&1 |
        sed -nE 's/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: ([^ ]+) .*\*\*\*(Failed|Timeout|Exception).*/\1/p' | head -n 1 || true
}

# Whether that test is green without the mutant: otherwise it has found nothing.
is_green() {
    timeout --kill-after=20 "$seconds" ctest --preset dev -R "^${1//./[.]}\$" >/dev/null 2>&1
}

printf '| mutant | is found first by | seconds |\n|---|---|---|\n'
for mutant in "${mutants[@]}"; do
    start=$SECONDS
    finder=$(run short "$mutant" "$seconds")
    left=$((seconds - SECONDS + start))
    if [ -z "$finder" ] && [ -n "$rest" ] && [ "$left" -gt 0 ]; then
        finder=$(run rest "$mutant" "$left")
        [ -z "$finder" ] || finder="$finder, which the short run lacks"
    fi
    took=$((SECONDS - start))
    if [ -z "$finder" ]; then
        finder=-
        [ "$took" -lt "$seconds" ] || finder='- (not all tests ran)'
    elif ! is_green "${finder%%,*}"; then
        finder="? (${finder%%,*} is red without it as well)"
    fi
    printf '| %s | %s | %s |\n' "$mutant" "$finder" "$took"
done
