# SPDX-License-Identifier: MIT
"""Builds the workers, and finds the installed peers."""
import json
import re
import subprocess
import sys

import pathlib

HERE = pathlib.Path(__file__).resolve().parent


def run(command):
    subprocess.run([str(word) for word in command], check=True)


def output(*command):
    done = subprocess.run(list(map(str, command)), text=True, capture_output=True, check=False)
    return done.stdout.strip() or done.stderr.strip()


class Workers:
    """The command that starts each library's worker, by the library's name, and its version."""

    def __init__(self, given):
        self.given = given
        self.commands = {}
        self.versions = []
        self.ours()
        for option, gather in (("jars", self.java), ("python", self.python), ("node", self.node),
                               ("redis_plus_plus", self.redis_plus_plus)):
            folder = getattr(given, option)
            if folder is None:
                self.left_out(f"no --{option.replace('_', '-')}")
            else:
                gather(folder.resolve())

    @staticmethod
    def left_out(why):
        print(f"left out: {why}", file=sys.stderr, flush=True)

    def compile(self, program, peer, includes, libraries):
        sources = [each for each in sorted((HERE / "cpp").glob("*.cpp"))
                   if not each.name.endswith("_peer.cpp")]
        run(["g++", "-std=c++20", "-O2", "-Wall", "-Wextra", "-Werror", "-DMORTISE_STATIC",
             *(word for each in includes for word in ("-isystem", each)), *sources,
             HERE / "cpp" / peer, *libraries, "-pthread", "-o", program])
        return [program]

    def ours(self):
        archives = sorted(self.given.mortise_build.glob("libmortise*.a"))
        if not archives:
            sys.exit(f"no libmortise*.a in {self.given.mortise_build}: build the preset release first")
        uses = ["hiredis", "openssl"]
        if any("postgres" in archive.name for archive in archives):
            uses.append("libpq")
        libraries = output("pkg-config", "--libs", *uses).split()
        self.commands["Mortise"] = self.compile(
            self.given.work / "mortise", "mortise_peer.cpp", [self.given.mortise_src / "include"],
            ["-Wl,--start-group", *archives, "-Wl,--end-group", *libraries])
        commit = output("git", "-C", self.given.mortise_src, "rev-parse", "--short", "HEAD")
        self.versions.append(f"Mortise {commit}")

    def java(self, folder):
        for needed in ("redisson-[0-9]*.jar", "curator-recipes-*.jar"):
            if not list(folder.glob(needed)):
                sys.exit(f"no {needed} in {folder}: README.md says what has to be there")
        classes = self.given.work / "classes"
        run(["javac", "-cp", folder / "*", "-d", classes, *sorted((HERE / "java").glob("*.java"))])
        start = ["java", "-cp", f"{classes}:{folder}/*", "Worker"]
        self.commands["Redisson"] = [*start, "redisson"]
        self.commands["Curator"] = [*start, "curator"]
        self.versions += [each.stem.replace("-recipes", "") for name in
                          ("redisson-[0-9]*", "curator-recipes-*", "zookeeper-[0-9]*")
                          for each in folder.glob(name + ".jar")]
        self.versions.append(output("java", "-version").splitlines()[0])

    def python(self, folder):
        program = folder / "bin" / "python3"
        for library, package in (("redis-py", "redis"), ("kazoo", "kazoo")):
            found = output(program, "-c", "import importlib.metadata as each; "
                           f"print(each.version('{package}'))")
            if not re.fullmatch(r"[\w.]+", found):
                self.left_out(f"{library}, which {program} does not know")
                continue
            # -B: writes no files next to the sources.
            self.commands[library] = [program, "-B", HERE / "python" / "worker.py", library]
            self.versions.append(f"{library} {found}")
        self.versions.append(output(program, "--version"))

    def node(self, folder):
        found = {}
        for package in ("redlock", "ioredis"):
            about = folder / "node_modules" / package / "package.json"
            if not about.exists():
                self.left_out(f"redlock: no {package} in {folder}")
                return
            found[package] = json.loads(about.read_text())["version"].lstrip("v")
        if not found["redlock"].startswith("5."):
            sys.exit(f"redlock {found['redlock']} in {folder}: its interface is another one than 5's")
        self.commands["redlock"] = ["node", HERE / "node" / "worker.js", folder]
        self.versions += [f"node-redlock {found['redlock']} (ioredis {found['ioredis']})",
                          f"Node.js {output('node', '--version').lstrip('v')}"]

    def redis_plus_plus(self, folder):
        header = folder / "include/sw/redis++/version.h"
        archives = [*folder.glob("lib*/libredis++.a"), *folder.glob("lib/*/libredis++.a")]
        if not header.exists() or not archives:
            self.left_out(f"redis-plus-plus: no libredis++.a with its headers in {folder}")
            return
        self.commands["redis-plus-plus"] = self.compile(
            self.given.work / "redis_plus_plus", "redis_plus_plus_peer.cpp", [folder / "include"],
            [archives[0], "-lhiredis"])
        version = ".".join(re.findall(r"VERSION_\w+ = (\d+);", header.read_text()))
        self.versions.append(f"redis-plus-plus {version}")
