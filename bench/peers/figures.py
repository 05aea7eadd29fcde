# SPDX-License-Identifier: MIT
"""What is measured, and in which order."""
import array
import contextlib
import dataclasses
import pathlib
import tempfile
import time

import processes
from report import percentile


@dataclasses.dataclass(frozen=True)
class Sizes:
    """How much of everything."""
    warm: int          # calls before those that count, in each part: Java compiles while it runs
    calls: int         # that count
    warm_ms: int       # the same for rates
    rate_ms: int
    turns: int         # of a hand-off; the first fifty do not count
    held: dict         # by server: up to how many locks one thread holds
    hold_seconds: dict


FULL = Sizes(warm=10_000, calls=10_000, warm_ms=1_500, rate_ms=2_000, turns=600,
             held={"Redis": (10_000, 100_000), "ZooKeeper": (10_000,)},
             hold_seconds={"Redis": 30, "ZooKeeper": 15})
QUICK = Sizes(warm=200, calls=200, warm_ms=200, rate_ms=300, turns=120,
              held={"Redis": (300, 1_000), "ZooKeeper": (300,)},
              hold_seconds={"Redis": 11, "ZooKeeper": 3})
UNCOUNTED_TURNS = 50
RIVALS = 8
THREADS = 32
ASKED = 200  # held locks that another client tries afterwards


@dataclasses.dataclass(frozen=True)
class Side:
    """One library, or one mode of it."""
    letter: str  # of its names
    title: str
    command: tuple


class Bench:
    """A server, the sides that take locks there, and their figures."""

    requests_title = ""

    def __init__(self, server, sides, cpu, sizes):
        self.server = server
        self.sides = sides
        self.cpu = cpu
        self.sizes = sizes

    def start(self, side):
        return processes.Worker(side.command, self.cpu)

    def warm_up(self):
        """What the server compiles or allocates once, it does before the first round."""
        for side in self.sides:
            worker = self.start(side)
            worker.ask("threads", f"{side.letter}warm", RIVALS, 2 * self.sizes.warm_ms, 100)
            worker.end()

    def round(self, number, results):
        """All figures once; each side is the first in every other round."""
        sides = self.sides[::-1] if number % 2 else self.sides
        with contextlib.ExitStack() as stack:
            pairs = {}
            for side in sides:
                pairs[side] = self.start(side), self.start(side)
                for worker in pairs[side]:
                    stack.callback(worker.end)
            for part in (self.cycles, self.rate, self.failed_try, self.contention, self.handoff):
                for side in sides:
                    add = self.adder(results, side)
                    part(*pairs[side], f"{side.letter}{number:02}{part.__name__[:2]}", add)
            self.mixed(results, pairs, number)
        for side in sides:
            self.held(side, f"{side.letter}{number:02}he", self.adder(results, side))

    def adder(self, results, side):
        return lambda figure, value: results.add(self.title, figure, side.title, value)

    def cycles(self, one, _, prefix, add):
        taken = self.samples(one.ask("cycles", prefix, self.sizes.warm, self.sizes.calls))
        add("lock + unlock, 1 thread, p50, µs", percentile(taken, 0.5))
        add("lock + unlock, 1 thread, p99, µs", percentile(taken, 0.99))

    def rate(self, one, _, prefix, add):
        rate = one.ask("threads", prefix, THREADS, self.sizes.warm_ms, self.sizes.rate_ms)
        add(f"{THREADS} threads, a name each, cycles/s", float(rate))

    def failed_try(self, one, other, prefix, add):
        other.ask("hold", prefix, 0, 1)
        taken = self.samples(one.ask("tries", prefix, self.sizes.warm, self.sizes.calls))
        other.ask("drop", 1)
        add("failed try, p50, µs", percentile(taken, 0.5))

    def contention(self, one, _, prefix, add):
        one.ask("rivals", prefix, RIVALS)
        one.ask("contend", prefix, self.sizes.warm_ms)
        before = self.server.requests()
        grants = int(one.ask("contend", prefix, self.sizes.rate_ms))
        requests = self.server.requests() - before - self.question
        one.ask("rivals", prefix, 0)
        add(f"{self.requests_title} a grant, {RIVALS} clients", requests / grants)
        add(f"{RIVALS} clients, held 1 ms, grants/s", grants / self.sizes.rate_ms * 1000)

    def handoff(self, one, other, prefix, add):
        taken = self.relay(one, other, prefix)
        add("hand-off between processes, p50, µs", percentile(taken, 0.5))
        add("hand-off between processes, p99, µs", percentile(taken, 0.99))

    def mixed(self, results, pairs, number):
        """Hand-offs between the peer and that side of ours that shares its locks."""
        peer, ours = self.sides[0], self.sides[-1]
        taken = self.relay(pairs[ours][0], pairs[peer][0], f"m{number:02}mi")
        for figure, some in ((f"ours frees, {peer.title} gets", taken[1::2]),
                             (f"{peer.title} frees, ours gets", taken[0::2])):
            results.add(self.title, f"{figure}, p50, µs", ours.title, percentile(some, 0.5))
            results.add(self.title, f"{figure}, p99, µs", ours.title, percentile(some, 0.99))

    def relay(self, first, second, prefix):
        """How long each turn's taker waited from the call of unlock(), in µs."""
        turns = self.sizes.turns
        with tempfile.NamedTemporaryFile(dir=self.server.folder) as board:
            board.write(bytes(8 * (5 + turns)))
            board.flush()
            for side, worker in enumerate((first, second)):
                worker.send("relay", prefix, side, turns, board.name)
            first.answer()
            second.answer()
            words = array.array("q", pathlib.Path(board.name).read_bytes())
        return [word / 1000 for word in words[5 + UNCOUNTED_TURNS:]]

    def held(self, side, prefix, add):
        """One thread holds many locks, in a process that has done little else."""
        self.make_room()
        holder = self.start(side)
        holder.ask("cycles", f"{prefix}w", self.sizes.warm, 1)
        self.hold_one(holder, prefix, add)
        before = holder.memory_mb()
        stored = self.stored()
        start, seconds = 0, 0.0
        for count in self.sizes.held[self.title]:
            seconds += float(holder.ask("hold", prefix, start, count))
            start = count
            add(f"take {count:,}, s", seconds)
        time.sleep(1)  # what the takes have left to do
        add(f"client memory that {start:,} held add, MB", holder.memory_mb() - before)
        add(f"client memory with {start:,} held, all, MB", holder.memory_mb())
        self.tell_stored(stored, start, add)
        self.watch(holder, start, add)
        self.ask_another(side, prefix, start)
        self.let_go(holder, start)

    def hold_one(self, holder, prefix, add):
        """What many holds cost begins with what one does."""

    def watch(self, holder, count, add):
        seconds = self.sizes.hold_seconds[self.title]
        begin = time.monotonic()
        client, server = holder.cpu_seconds(), self.server.cpu_seconds()
        requests = self.server.requests()
        time.sleep(seconds)
        requests = self.server.requests() - requests - self.question
        client, server = holder.cpu_seconds() - client, self.server.cpu_seconds() - server
        elapsed = time.monotonic() - begin
        add(f"client CPU while holding {count:,}, %", 100 * client / elapsed)
        add(f"server CPU while holding {count:,}, %", 100 * server / elapsed)
        add(f"{self.requests_title} a second while holding {count:,}", requests / elapsed)

    def ask_another(self, side, prefix, count):
        """Figures of holds that did not last would be worth nothing."""
        other = self.start(side)
        refused = int(other.ask("refused", prefix, 0, count, max(1, count // ASKED)))
        other.end()
        if refused != len(range(0, count, max(1, count // ASKED))):
            raise RuntimeError(f"{side.title}: of {ASKED} holds {refused} are left")

    @staticmethod
    def samples(text):
        """Nanoseconds as microseconds."""
        return [int(word) / 1000 for word in text.split()]


class RedisBench(Bench):
    title = "Redis"
    requests_title = "calls of scripts"
    question = 0  # requests that asking for their number makes

    def __init__(self, server, ours, peers, cpu, sizes):
        where = f"redis://127.0.0.1:{server.port}"
        super().__init__(server, [
            Side("r", "Redisson", (*peers, "redisson", where)),
            Side("m", "Mortise", (*ours, where)),
            Side("i", "Mortise interop=redisson", (*ours, where + "?interop=redisson")),
        ], cpu, sizes)
        self.started = 0

    def start(self, side):
        """Holds one lock from the start. Redisson 3.52 starts a timer with the first lock that it
        holds and leaves it when it frees the last: one for each lock + unlock, each of which renews
        all that is held ten seconds later. Where something is held all the time there is one."""
        worker = super().start(side)
        self.started += 1
        worker.ask("hold", f"k{self.started:04}", 0, 1)
        return worker

    def make_room(self):
        self.server.flush()

    def stored(self):
        return self.server.memory()

    def tell_stored(self, before, count, add):
        add("server bytes a held lock", (self.server.memory() - before) / count)

    def let_go(self, holder, _):
        holder.kill()
        self.server.flush()


class ZooKeeperBench(Bench):
    title = "ZooKeeper"
    requests_title = "requests"
    question = 1

    def __init__(self, server, ours, peers, cpu, sizes):
        where = f"127.0.0.1:{server.port}/peers"
        super().__init__(server, [
            Side("c", "Curator", (*peers, "curator", where)),
            Side("m", "Mortise", (*ours, f"zookeeper://{where}")),
        ], cpu, sizes)

    def make_room(self):
        """Each name is new."""

    def hold_one(self, holder, prefix, add):
        holder.ask("hold", f"{prefix}o", 0, 1)
        time.sleep(1)
        begin, requests = time.monotonic(), self.server.requests()
        time.sleep(self.sizes.hold_seconds[self.title])
        requests = self.server.requests() - requests - self.question
        add("requests a second while holding 1", requests / (time.monotonic() - begin))

    def stored(self):
        return 0

    def tell_stored(self, before, count, add):
        add(f"watches while holding {count:,}", self.server.watches())

    def let_go(self, holder, count):
        holder.ask("drop", count)
        holder.end()


BENCHES = {"redis": RedisBench, "zookeeper": ZooKeeperBench}
