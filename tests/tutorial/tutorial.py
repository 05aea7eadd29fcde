#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Goal: docs/tutorial.md works as it is written. Method: run its commands and compare their output.

A ```console block is run in the terminals that a comment before it names. A line that begins with
"$ " is a command, and "> " continues it. Every other line is output. It has to be the same, except
for two kinds of words: a fencing token (15 digits or more) and the holder web1:<number>. Each of them
stands for one real value on the whole page, and larger tokens of the page stand for larger ones.
These comments are run too:

    <!-- terminal 1 -->            the next block is for this terminal; "terminals 1 2": for both
    <!-- waits: terminal 2 -->     its command is still running and has printed nothing more
    <!-- Enter: terminal 1 -->     press Enter
    <!-- Ctrl-C: terminal 3 -->    interrupt the command; the terminal is not used any more

A ```sh block is not run. It builds the programs of the page, and each --target has to be among the
programs that this test gets. Every command has to end with exit status 0; a command that shows
another status ends with `echo`.

usage: tutorial.py <URL of a PostgreSQL database> <page> <program>...
The last part of a program's path is its name on the page: ./hello, or mortise, which is in PATH.
"""
import os
import pathlib
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

LIMIT = 30.0  # seconds that any line of output may take
QUIET = 0.5  # seconds for which a command that waits prints nothing
END = "the command has ended with status "
VALUES = re.compile(r"\d{15,}|web1:\d+")


class Wrong(Exception):
    pass


class Terminal:
    """A shell. Its input is a pipe, which the running command reads as a user's key strokes."""

    def __init__(self, folder, environment):
        self.lines = queue.Queue()
        self.count = 0
        self.is_running = False
        self.folder = folder
        self.shell = subprocess.Popen(
            ["bash", "--noprofile", "--norc"], cwd=folder, env=environment, start_new_session=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.shell.stdout:
            self.lines.put(line.rstrip("\n"))

    def type(self, text):
        self.shell.stdin.write(text + "\n")
        self.shell.stdin.flush()

    def run(self, command):
        # From a file, so that the shell has read all of it before the command reads the input.
        self.count += 1
        file = pathlib.Path(self.folder, f".command{id(self)}.{self.count}")
        file.write_text(command + "\n")
        self.type(f". '{file}'; echo '{END}'$?")
        self.is_running = True

    def line(self, seconds):
        """The next line of output, or None if there is none in this time."""
        try:
            return self.lines.get(timeout=seconds)
        except queue.Empty:
            return None

    def end(self):
        """The command ends by itself, with status 0 and without further output."""
        if not self.is_running:
            return
        line = self.line(LIMIT)
        if line is None:
            raise Wrong(f"the command has not ended within {LIMIT:.0f} s")
        if line != END + "0":
            raise Wrong(f"more output than the page has: {line}")
        self.is_running = False

    def waits(self):
        line = self.line(QUIET)
        if line is not None:
            raise Wrong(f"the command does not wait: {line}")

    def kill(self):
        try:
            os.killpg(self.shell.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.shell.wait()


class Tutorial:
    def __init__(self, page, folder, database, programs):
        self.page = page
        self.programs = [pathlib.Path(program) for program in programs]
        self.terminals = {}
        self.values = {}  # what a word of the page stands for
        self.commands = 0
        self.folder = folder
        self.environment = dict(os.environ, DATABASE=database, LC_ALL="C.UTF-8",
                                PATH=f"{folder}/.bin:{os.environ['PATH']}")
        self.environment.pop("MORTISE_URL", None)
        tools = pathlib.Path(folder, ".bin")
        tools.mkdir()
        for program in self.programs:
            place = tools if program.name == "mortise" else pathlib.Path(folder)
            (place / program.name).symlink_to(program.resolve())

    def terminal(self, number):
        if number not in self.terminals:
            self.terminals[number] = Terminal(self.folder, self.environment)
        return self.terminals[number]

    def matches(self, expected, line):
        """Whether the line is the one of the page, apart from the values, which it remembers."""
        pattern = "".join(
            part if index % 2 else re.escape(part)
            for index, part in enumerate(re.split(r"(\d{15,}|web1:\d+)", expected)))
        pattern = re.sub(r"web1:\d+", r"([^ ]+:\\d+)", re.sub(r"\d{15,}", r"(\\d{15,})", pattern))
        found = re.fullmatch(pattern, line)
        if not found:
            return False
        for name, value in zip(VALUES.findall(expected), found.groups()):
            if self.values.setdefault(name, value) != value:
                return False
        tokens = [(int(name), int(value)) for name, value in self.values.items() if name.isdigit()]
        return all((a[0] < b[0]) == (a[1] < b[1]) for a in tokens for b in tokens if a != b)

    def block(self, numbers, lines):
        for number in numbers:
            terminal = self.terminal(number)
            commands = iter(lines + ["$ "])
            line = next(commands)
            while line != "$ ":
                if line.startswith("$ "):
                    command = line[2:]
                    line = next(commands)
                    while line.startswith("> "):
                        command += "\n" + line[2:]
                        line = next(commands)
                    terminal.end()
                    terminal.run(command)
                    self.commands += 1
                    continue
                printed = terminal.line(LIMIT)
                if printed is None or not self.matches(line, printed):
                    raise Wrong(f"terminal {number} does not print what the page says\n"
                                f"  page:    {line}\n  printed: {printed}")
                line = next(commands)

    def comment(self, text):
        """Runs a comment; the terminals of the next block, if it names them."""
        found = re.fullmatch(r"(?:(waits|Enter|Ctrl-C): )?terminals? ([\d ]+)", text)
        if not found:
            return []
        numbers = [int(number) for number in found[2].split()]
        if not found[1]:
            return numbers
        for number in numbers:
            terminal = self.terminal(number)
            if found[1] == "waits":
                terminal.waits()
            elif found[1] == "Enter":
                terminal.type("")
            else:
                os.killpg(terminal.shell.pid, signal.SIGINT)
                terminal.is_running = False
        return []

    def builds(self, text):
        names = {program.name for program in self.programs}
        targets = re.search(r"--target ([\w ]+)", text.replace("\\\n", " "))
        if not targets:
            raise Wrong("a block that is not run, and that builds no program")
        for target in targets[1].split():
            if target not in names:
                raise Wrong(f"builds {target}, which is not a program of this test")

    def run(self):
        numbers, fence, lines = [], None, []
        for count, line in enumerate(self.page.read_text().splitlines(), 1):
            try:
                if fence is None:
                    for comment in re.findall(r"<!-- (.*?) -->", line):
                        numbers = self.comment(comment) or numbers
                    if line.startswith("```"):
                        fence, lines = line[3:], []
                elif line != "```":
                    lines.append(line)
                else:
                    if fence == "console" and not numbers:
                        raise Wrong("no comment says in which terminal the block above runs")
                    if fence == "console":
                        self.block(numbers, lines)
                        numbers = []
                    elif fence == "sh":
                        self.builds("\n".join(lines))
                    fence = None
            except Wrong as wrong:
                raise Wrong(f"{self.page}:{count}: {wrong}") from None
        for number, terminal in self.terminals.items():
            try:
                terminal.end()
            except Wrong as wrong:
                raise Wrong(f"{self.page}: at the end, terminal {number}: {wrong}") from None
        if self.commands < 10:
            raise Wrong(f"{self.page}: only {self.commands} commands were found")


def main():
    database, page, programs = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        tutorial = Tutorial(page, folder, database, programs)
        try:
            tutorial.run()
        except Wrong as wrong:
            print(wrong)
            return 1
        finally:
            for terminal in tutorial.terminals.values():
                terminal.kill()
    print(f"{tutorial.commands} commands do what the page says, in {time.monotonic() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
