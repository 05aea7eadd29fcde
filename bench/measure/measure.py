#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Costs of the library and of its source as one table, compared with the stored values."""
import argparse
import collections
import contextlib
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
VALUES = HERE / "values.txt"
STORES = ["redis", "redlock", "zookeeper", "postgres"]
MOST_MEMBERS, MOST_FIELDS = 30, 12  # of a class
LARGEST = 10  # classes that have a row each
SHORT_RUN, LONG_RUN = 500, 2_500  # cycles; the difference has no start and no end in it

# A row: what it is called, its value, and words for the reader.
Row = collections.namedtuple("Row", "name value note")

# How much larger a value may be than the stored one, by the first word of its name.
MARGINS = {"server": 0.15, "cycle": 0, "class": 0, "attempt": 0, "lines": 0.05}
OTHER_MARGINS = {"cycle/instructions": 0.02, "lines/src": 0.02, "lines/scripts": 0.02, "lines/tests": 0.02}


def margin_of(name):
    return OTHER_MARGINS.get(name, MARGINS[name.partition("/")[0]])


def output_of(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} fails: {(done.stderr or done.stdout).strip()[-300:]}")
    return done


@contextlib.contextmanager
def redis_server():
    """A private server without a port, which ends with the block."""
    with tempfile.TemporaryDirectory(prefix="mortise-measure-") as folder:
        socket = pathlib.Path(folder, "redis.sock")
        server = subprocess.Popen(
            ["redis-server", "--port", "0", "--unixsocket", str(socket), "--save", "", "--appendonly", "no",
             "--dir", folder, "--logfile", str(pathlib.Path(folder, "log"))])
        try:
            until = time.monotonic() + 10
            while not socket.exists():
                if server.poll() is not None or time.monotonic() > until:
                    raise RuntimeError("redis-server does not start")
                time.sleep(0.02)
            yield str(socket)
        finally:
            server.kill()
            server.wait()


def server_rows(programs):
    with redis_server() as socket:
        text = output_of(str(programs / "mortise_measure_server_time"), socket).stdout
    acts = [line.split("\t") for line in text.splitlines()]
    free = float(acts[0][1])  # the first act
    for act, ours, redissons in acts:
        ratio = float(ours) / float(redissons)
        yield Row("server/" + act.replace(", ", "_").replace(" ", "_"), round(ratio, 2),
                  f"{ours} us, Redisson {redissons} us; {float(ours) / free:.1f} x our free acquire")


def instructions_of(programs, socket, cycles):
    done = output_of("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
                     str(programs / "mortise_measure_cycles"), f"redis+unix://{socket}", str(cycles))
    return int(re.search(r"Collected\s*:\s*(\d+)", done.stderr)[1])


def cycle_rows(programs):
    with redis_server() as socket:
        # Its exit status tells the test whether a count is above the test's limit. The table shows the counts.
        counted = subprocess.run([str(programs / "mortise_measure_counts"), f"redis+unix://{socket}"],
                                 capture_output=True, text=True).stdout
        cycles = int(counted.split()[0])
        # A line per count, in this order, for all cycles together.
        counts = [int(count) for count in re.findall(r": (\d+), at most", counted)]
        taken, mutexes, allocations, calls, reads = counts
        yield Row("cycle/mutex_acquisitions", taken / cycles, f"of {mutexes} mutexes")
        yield Row("cycle/allocations", allocations / cycles, "")
        yield Row("cycle/system_calls", calls / cycles, "")
        yield Row("cycle/clock_reads", reads / cycles, "")
        runs = [instructions_of(programs, socket, cycles) for cycles in (SHORT_RUN, LONG_RUN)]
        yield Row("cycle/instructions", round((runs[1] - runs[0]) / (LONG_RUN - SHORT_RUN)), "in user space")


def tags_of(*folders):
    command = ["ctags", "--options=NONE", "--recurse", "--languages=C++", "--map-C++=+.hpp", "--kinds-C++=+p",
               "--fields=+nSKe", "--fields-C++=+{properties}", "-D", "MORTISE_API=", "--output-format=json", "-o", "-"]
    text = output_of(*command, *(str(ROOT / folder) for folder in folders)).stdout
    return [json.loads(line) for line in text.splitlines()]


def full_name(tag):
    return f"{tag['scope']}::{tag['name']}" if "scope" in tag else tag["name"]


def is_inside(tag, outer):
    """Whether the class has the tag in its own lines: a function is defined elsewhere once more."""
    return tag["path"] == outer["path"] and outer["line"] <= tag["line"] <= outer.get("end", outer["line"])


def classes_of(tags):
    """The member functions (without the destructor) and the data members (without static ones) of each class in src."""
    places = collections.defaultdict(list)
    for tag in tags:
        if tag["kind"] in ("class", "struct") and tag["path"].startswith(str(ROOT / "src")):
            places[full_name(tag)].append(tag)
    members, fields = collections.Counter(), collections.Counter()
    for tag in tags:
        if not any(is_inside(tag, outer) for outer in places.get(tag.get("scope"), [])):
            continue
        name = re.sub(r"__anon\w+::", "", tag["scope"]).removeprefix("mortise::")
        if tag["kind"] in ("prototype", "function") and not tag["name"].startswith("~"):
            members[name] += 1
        elif tag["kind"] == "member" and "static" not in tag.get("properties", ""):
            fields[name] += 1
    return members, fields


def class_rows(tags):
    members, fields = classes_of(tags)
    for what, counts, most in ("members", members, MOST_MEMBERS), ("fields", fields, MOST_FIELDS):
        name, count = counts.most_common(1)[0]
        yield Row(f"class/most_{what}", count, name)
        yield Row(f"class/above_{most}_{what}", sum(count > most for count in counts.values()),
                  "classes")
    for name, both in (members + fields).most_common(LARGEST):
        yield Row(f"class/{name}", both, f"{members[name]} members, {fields[name]} fields")


def attempt_rows(tags):
    known = {full_name(tag) for tag in tags}
    places = collections.Counter()
    for line in (HERE / "attempt_places.txt").read_text().splitlines():
        part, *names = line.partition("#")[0].split() or [""]
        if known.intersection(names):
            places[part] += 1
        elif part:
            print(f"gone: {' '.join(names)}; delete its line in attempt_places.txt", file=sys.stderr)
    for store in STORES:
        yield Row(f"attempt/{store}", places[store] + places["library"], f"{places[store]} are the store's own")


def lines_of(path):
    return path.read_bytes().count(b"\n")


def store_of_test(path):
    for part in path.relative_to(ROOT / "tests").parts:
        for store in [*STORES, "file", "memory"]:
            if re.match(rf"(broken_)?{store}([_.]|$)", part):
                return store
    return "common"


def line_rows():
    lines = collections.Counter()

    def count(kind, path, part):
        lines[f"lines/{kind}"] += lines_of(path)
        lines[f"lines/{kind}/{part}"] += lines_of(path)

    for path in (ROOT / "src").rglob("*.*"):
        part = path.relative_to(ROOT / "src").parts[0]
        if path.suffix in (".cpp", ".hpp"):
            count("src", path, part)
        elif path.suffix in (".lua", ".sql"):
            count("scripts", path, part)
    for path in (ROOT / "tests").rglob("*.[ch]pp"):
        count("tests", path, store_of_test(path))
    for name in sorted(lines):
        yield Row(name, lines[name], "")


def stored_values():
    if not VALUES.exists():
        return {}
    lines = (line.partition("#")[0].split() for line in VALUES.read_text().splitlines())
    return {words[0]: float(words[1]) for words in lines if words}


def text_of(name, value):
    if value is None:
        return ""
    return f"{value:.2f}" if name.startswith("server/") or value != int(value) else f"{int(value):,}"


def verdict_of(row, stored):
    if stored is None:
        return "new"
    if row.value > stored * (1 + margin_of(row.name)) + 1e-9:
        return "WORSE"
    return "better" if row.value < stored * (1 - margin_of(row.name)) - 1e-9 else ""


def print_table(rows, stored):
    """@return the names of the rows that got worse"""
    form = "{:<34} {:>10} {:>10} {:>8} {:>7}  {:<7} {}".format
    print(form("row", "stored", "now", "change", "allowed", "", "").rstrip())
    worse = []
    for row in rows:
        before = stored.get(row.name)
        verdict = verdict_of(row, before)
        change = f"{row.value / before - 1:+.0%}" if before else ""
        print(form(row.name, text_of(row.name, before), text_of(row.name, row.value), change if row.value != before else "",
                   f"+{margin_of(row.name):.0%}" if margin_of(row.name) else "0", verdict, row.note).rstrip())
        if verdict == "WORSE":
            worse.append(row.name)
    return worse


def write(rows, stored):
    """Rows that were not measured keep their values."""
    measured = {row.name.partition("/")[0] for row in rows}
    kept = {name: value for name, value in stored.items() if name.partition("/")[0] not in measured}
    values = {**kept, **{row.name: row.value for row in rows}}
    names = sorted(values, key=lambda name: list(MARGINS).index(name.partition("/")[0]))
    head = "# The values that ./dev measure compares with; ./dev measure --write stores them. See ../README.md.\n"
    VALUES.write_text(head + "".join(f"{name:<36} {values[name]:g}\n" for name in names))


def arguments():
    parser = argparse.ArgumentParser(prog="./dev measure", description=__doc__)
    parser.add_argument("--static", action="store_true", help="only what needs no build: class, attempt, lines")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--check", action="store_true", help="fail if a row got worse than its margin allows")
    what.add_argument("--write", action="store_true", help="store the values")
    parser.add_argument("--programs", type=pathlib.Path, default=ROOT / "build/release/bench/measure",
                        help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    given = arguments()
    tags = tags_of("src", "include")
    rows = [] if given.static else [*server_rows(given.programs), *cycle_rows(given.programs)]
    rows += [*class_rows(tags), *attempt_rows(tags), *line_rows()]
    stored = stored_values()
    worse = print_table(rows, stored)
    if given.write:
        write(rows, stored)
    if given.check and worse:
        sys.exit(f"worse than bench/measure/values.txt: {', '.join(worse)}")


if __name__ == "__main__":
    try:
        main()
    except (OSError, RuntimeError) as error:
        sys.exit(f"cannot measure: {error}")
