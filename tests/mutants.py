#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Which test finds which deliberate mistake first?

Makes one mistake after the other (MORTISE_MUTANT), and runs the tests of its component, the shortest first, until one
is red. A test that is red without the mistake as well has found the load of the machine, and does not count. The
simulation is asked by ./dev simulate mutants.

  tests/mutants.py redlock.majority_is_one_too_few
  tests/mutants.py --rest memory zookeeper

Needs a build of the preset `dev`, and the durations that ctest keeps (./dev test). A component stands for all of its
mutants.
"""
import argparse
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/dev"
# The labels of the tests that a mutant of a component may show in. All stores share the core.
LABELS = {"core": {"core", "memory", "redis"}, "memory": {"memory", "core"}}


class Test:
    """A test as ctest knows it."""

    def __init__(self, listed, preset, durations):
        properties = {each["name"]: each["value"] for each in listed.get("properties", [])}
        self.name = listed["name"]
        self.preset = preset
        self.command = listed.get("command", [])
        self.folder = properties.get("WORKING_DIRECTORY", str(BUILD))
        self.environment = dict(each.split("=", 1) for each in properties.get("ENVIRONMENT", []))
        self.labels = set(properties.get("LABELS", []))
        self.seconds = durations.get(self.name, 10.0)

    def start(self, temporary, **environment):
        folder = tempfile.mkdtemp(dir=temporary)
        os.chmod(folder, 0o755)  # some servers run as another user
        return subprocess.Popen(
            self.command, cwd=self.folder, start_new_session=True,
            env={**os.environ, **self.environment, "TMPDIR": folder, "GTEST_FAIL_FAST": "1", **environment},
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def longest(self):
        """Seconds after which it hangs."""
        return 30 + 5 * self.seconds

    def is_green(self, temporary):
        process = self.start(temporary)
        try:
            return process.wait(self.longest()) == 0
        except subprocess.TimeoutExpired:
            return False
        finally:
            end(process)


def end(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def kept_durations():
    kept = BUILD / "Testing/Temporary/CTestCostData.txt"
    lines = kept.read_text().splitlines() if kept.exists() else []
    return {words[0]: float(words[2]) for words in map(str.split, lines) if len(words) == 3 and words[1] != "0"}


def tests_of(preset):
    listing = subprocess.run(["ctest", "--preset", preset, "--show-only=json-v1"], cwd=ROOT, check=True,
                             stdout=subprocess.PIPE).stdout
    durations = kept_durations()
    tests = [Test(each, preset, durations) for each in json.loads(listing)["tests"]]
    return [each for each in tests if each.command and os.path.exists(each.command[0])
            and "_tests" in pathlib.Path(each.command[0]).name]


def mutants_of(words):
    known = set()
    for source in (ROOT / "src").rglob("*.?pp"):
        known.update(re.findall(r'mutant\("([a-z]+\.[a-z_.0-9]+)"', source.read_text()))
    chosen = []
    for word in words:
        found = [word] if word in known else sorted(each for each in known if each.startswith(word + "."))
        if not found:
            sys.exit(f"no such mutant or component: {word}")
        chosen += found
    return chosen


def finder_of(mutant, tests, jobs, until):
    """The first test that is red, or None; and whether all tests ran."""
    component = mutant.split(".")[0]
    waiting = [each for each in tests if each.labels & LABELS.get(component, {component})]
    waiting.sort(key=lambda each: each.seconds)
    running = {}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
        os.chmod(temporary, 0o755)
        try:
            while waiting or running:
                while waiting and len(running) < jobs:
                    test = waiting.pop(0)
                    running[test.start(temporary, MORTISE_MUTANT=mutant)] = (test, time.monotonic() + test.longest())
                for process, (test, hangs) in list(running.items()):
                    if process.poll() is None and time.monotonic() < hangs:
                        continue
                    red = process.poll() != 0
                    end(process)
                    del running[process]
                    if red and test.is_green(temporary):
                        return test, True
                if time.monotonic() > until:
                    return None, False
                time.sleep(0.05)
            return None, True
        finally:
            for process in running:
                end(process)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rest", action="store_true", help="also ask what `./dev test rest` has beyond the short run")
    parser.add_argument("--seconds", type=float, default=300, help="give up on a mutant after this time (300)")
    parser.add_argument("--jobs", type=int, default=2 * (os.cpu_count() or 1), help="how many tests run at once")
    parser.add_argument("mutants", nargs="+", metavar="mutant or component")
    asked = parser.parse_args()
    mutants = mutants_of(asked.mutants)
    runs = [tests_of("short")] + ([tests_of("rest")] if asked.rest else [])
    print("| mutant | is found first by | seconds |\n|---|---|---|")
    for mutant in mutants:
        began = time.monotonic()
        finder, all_ran = None, True
        for tests in runs:
            if finder is None and all_ran:
                finder, all_ran = finder_of(mutant, tests, asked.jobs, began + asked.seconds)
        if finder is None:
            words = "-" if all_ran else "- (not all tests ran)"
        else:
            words = finder.name + (", which the short run lacks" if finder.preset == "rest" else "")
        print(f"| {mutant} | {words} | {time.monotonic() - began:.0f} |", flush=True)


if __name__ == "__main__":
    main()
