#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures Mortise and other lock libraries: see README.md."""
import argparse
import contextlib
import json
import os
import pathlib
import platform
import sys
import time

sys.dont_write_bytecode = True

import figures  # noqa: E402
import processes  # noqa: E402
import report  # noqa: E402
import workers  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
PEERS = {
    "jars": "a folder with Redisson's and Curator's jars, and those that they need",
    "python": "a virtual environment with redis-py and kazoo",
    "node": "a folder with node_modules: redlock and ioredis",
    "redis-plus-plus": "where redis-plus-plus is installed: include/ and lib/",
}


def arguments():
    parser = argparse.ArgumentParser(
        prog="./dev bench peers", description=__doc__,
        epilog="A peer whose option is not given is left out. Nothing is downloaded.")
    for name, what in PEERS.items():
        parser.add_argument(f"--{name}", type=pathlib.Path, metavar="DIR", help=what)
    parser.add_argument("--mortise-src", type=pathlib.Path, default=HERE.parents[1], metavar="DIR",
                        help="Mortise's sources (default: around this script)")
    parser.add_argument("--mortise-build", type=pathlib.Path, metavar="DIR",
                        help="where they are built (default: build/release of the sources)")
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("build/peers"), metavar="DIR",
                        help="where the workers are built (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, metavar="N")
    parser.add_argument("--only", choices=["redis", "zookeeper"])
    parser.add_argument("--quick", action="store_true",
                        help="few calls: shows that everything runs; the figures mean nothing")
    parser.add_argument("--server-cpu", type=int, default=0, metavar="N")
    parser.add_argument("--client-cpu", type=int, default=1, metavar="N")
    parser.add_argument("--json", type=pathlib.Path, metavar="PATH",
                        help="file for all figures of all rounds, for page.py")
    given = parser.parse_args()
    given.mortise_build = given.mortise_build or given.mortise_src / "build/release"
    return given


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def command(given):
    """The run in one line, without the folders of this machine."""
    words = [f"--{name} DIR" for name in PEERS if getattr(given, name.replace("-", "_"))]
    words += [f"--only {given.only}"] * bool(given.only) + ["--quick"] * given.quick
    return " ".join(["./dev bench peers", *words, f"--rounds {given.rounds}", "--json PATH"])


class Run:
    """The figures of one run so far."""

    def __init__(self, given, versions, benches, sizes):
        self.given = given
        self.begin = time.monotonic()
        self.results = report.Results()
        self.about = {
            "command": command(given),
            "quick": given.quick,
            "held": sizes.held,
            "machine": f"{processor()}, {os.cpu_count()} CPUs, Linux {platform.release()}",
            "versions": versions,
            "benches": [{"title": bench.title,
                         "ours": [side.title for side in bench.sides if side.ours],
                         "peers": [side.title for side in bench.sides if not side.ours],
                         "shares": {side.title: side.shares_with for side in bench.sides
                                    if side.shares_with}}
                        for bench in benches],
        }

    def seconds(self):
        return round(time.monotonic() - self.begin)

    def keep(self, rounds):
        """Called even if the round failed."""
        if self.given.json:
            everything = {**self.about, "rounds": rounds, "seconds": self.seconds(),
                          "figures": self.results.all()}
            self.given.json.write_text(json.dumps(everything, indent=1, ensure_ascii=False) + "\n")

    def show(self):
        print("; ".join([*self.about["versions"], self.about["machine"]]))
        for bench in self.about["benches"]:
            print("\n" + self.results.table(bench["title"], bench["ours"] + bench["peers"]))
            for line in self.results.between(bench["title"]):
                print(line)


def main():
    given = arguments()
    given.work.mkdir(parents=True, exist_ok=True)
    given.work = given.work.resolve()
    found = workers.Workers(given)
    # This script runs only between the figures, and never on the server's CPU.
    os.sched_setaffinity(0, {given.client_cpu})
    sizes = figures.QUICK if given.quick else figures.FULL
    with contextlib.ExitStack() as stack:
        servers = {}
        for name, kind in (("redis", processes.Redis), ("zookeeper", processes.ZooKeeper)):
            if given.only in (None, name):
                servers[name] = kind(given.server_cpu)
                stack.callback(servers[name].end)
        benches = [figures.BENCHES[name](server, found.commands, given.client_cpu, sizes)
                   for name, server in servers.items()]
        run = Run(given, [*(server.version() for server in servers.values()), *found.versions],
                  benches, sizes)
        for bench in benches:
            bench.warm_up()
        for number in range(given.rounds):
            for bench in benches:
                try:
                    bench.round(number, run.results)
                finally:
                    run.keep(number + 1)
                print(f"{bench.title}, round {number + 1} of {given.rounds}: {run.seconds()} s",
                      file=sys.stderr, flush=True)
    run.show()


if __name__ == "__main__":
    main()
