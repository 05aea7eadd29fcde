#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Mortise beside Redisson and Curator: see README.md."""
import argparse
import contextlib
import json
import os
import pathlib
import platform
import subprocess
import sys
import time

sys.dont_write_bytecode = True

import figures  # noqa: E402
import processes  # noqa: E402
import report  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jars", type=pathlib.Path, required=True,
                        help="a folder with Redisson, Curator and what they need")
    parser.add_argument("--mortise-src", type=pathlib.Path, default=HERE.parents[1],
                        help="Mortise's sources (default: around this script)")
    parser.add_argument("--mortise-build", type=pathlib.Path,
                        help="where they are built (default: build/release of the sources)")
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("build/peers"),
                        help="where the two workers are built (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=["redis", "zookeeper"])
    parser.add_argument("--quick", action="store_true",
                        help="small numbers: shows that everything runs, measures nothing")
    parser.add_argument("--server-cpu", type=int, default=0)
    parser.add_argument("--client-cpu", type=int, default=1)
    parser.add_argument("--json", type=pathlib.Path, help="all figures of all rounds go here")
    given = parser.parse_args()
    given.mortise_build = given.mortise_build or given.mortise_src / "build/release"
    return given


def run(command):
    subprocess.run([str(word) for word in command], check=True)


def build_ours(given):
    """@return the command that starts Mortise's worker"""
    program = given.work / "worker"
    archives = sorted(given.mortise_build.glob("libmortise*.a"))
    if not archives:
        sys.exit(f"no libmortise*.a in {given.mortise_build}: build the preset release first")
    uses = ["hiredis", "openssl"]
    if any("postgres" in archive.name for archive in archives):
        uses.append("libpq")
    libraries = subprocess.run(["pkg-config", "--libs", *uses], check=True, text=True,
                               capture_output=True).stdout.split()
    run(["g++", "-std=c++20", "-O2", "-Wall", "-Wextra", "-Werror", "-DMORTISE_STATIC",
         "-I", given.mortise_src / "include", *sorted((HERE / "ours").glob("*.cpp")),
         "-Wl,--start-group", *archives, "-Wl,--end-group", *libraries, "-pthread",
         "-o", program])
    return [program]


def build_peers(given):
    """@return the command that starts a peer's worker"""
    for needed in ("redisson-[0-9]*.jar", "curator-recipes-*.jar"):
        if not list(given.jars.glob(needed)):
            sys.exit(f"no {needed} in {given.jars}: README.md says what has to be there")
    classes = given.work / "classes"
    run(["javac", "-cp", given.jars / "*", "-d", classes, *sorted((HERE / "java").glob("*.java"))])
    return ["java", "-cp", f"{classes}:{given.jars}/*", "Worker"]


def about(given, servers):
    """What was measured, and on what."""
    def said(*command, where=None):
        done = subprocess.run(command, cwd=where, text=True, capture_output=True, check=False)
        return (done.stdout or done.stderr).strip().splitlines()[:1]

    jars = [jar.stem for name in ("redisson-[0-9]*", "curator-recipes-*", "zookeeper-[0-9]*")
            for jar in given.jars.glob(name + ".jar")]
    return [*(server.version() for server in servers.values()), *jars,
            *said("java", "-version"),
            *("Mortise " + line for line in
              said("git", "rev-parse", "--short", "HEAD", where=given.mortise_src)),
            f"Linux {platform.release()}, {os.cpu_count()} CPUs"]


def main():
    given = arguments()
    given.work.mkdir(parents=True, exist_ok=True)
    given.work = given.work.resolve()
    ours, peers = build_ours(given), build_peers(given)
    # This script wakes up between the figures only, and never on the server's CPU.
    os.sched_setaffinity(0, {given.client_cpu})
    sizes = figures.QUICK if given.quick else figures.FULL
    begin = time.monotonic()
    results = report.Results()
    with contextlib.ExitStack() as stack:
        servers = {}
        for name, kind in (("redis", processes.Redis), ("zookeeper", processes.ZooKeeper)):
            if given.only in (None, name):
                servers[name] = kind(given.server_cpu)
                stack.callback(servers[name].end)
        benches = [figures.BENCHES[name](server, ours, peers, given.client_cpu, sizes)
                   for name, server in servers.items()]
        what = about(given, servers)
        for bench in benches:
            bench.warm_up()
        for number in range(given.rounds):
            for bench in benches:
                bench.round(number, results)
                if given.json:  # also where a later round fails
                    given.json.write_text(
                        json.dumps({"about": what, "rounds": results.all()}, indent=1) + "\n")
                print(f"{bench.title}, round {number + 1} of {given.rounds}: "
                      f"{time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)
    print("; ".join(what) + f"; {given.rounds} rounds, {time.monotonic() - begin:.0f} s")
    for bench in benches:
        print("\n" + results.table(bench.title, [side.title for side in bench.sides]))


if __name__ == "__main__":
    main()
