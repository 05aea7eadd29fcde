# SPDX-License-Identifier: MIT
"""The figures, in the order in which they are measured."""
import array
import contextlib
import dataclasses
import pathlib
import tempfile
import time

import processes
import sides
from report import percentile


@dataclasses.dataclass(frozen=True)
class Sizes:
    """The number of calls, turns and locks, and the durations."""
    warm: int          # calls before the counted ones, in each part: Java compiles while it runs
    calls: int         # counted
    warm_ms: int       # the same for rates
    rate_ms: int
    turns: int         # of a hand-over; the first twelfth is not counted
    held: int          # how many locks one thread holds
    hold_seconds: dict  # by server: duration of the measurement


FULL = Sizes(warm=10_000, calls=5_000, warm_ms=1_000, rate_ms=1_500, turns=600, held=10_000,
             hold_seconds={"Redis": 30, "ZooKeeper": 10})
QUICK = Sizes(warm=200, calls=200, warm_ms=200, rate_ms=300, turns=120, held=300,
              hold_seconds={"Redis": 3, "ZooKeeper": 3})
LEAST_CALLS = 20
UNCOUNTED = 12  # one of this many turns is not counted
RIVALS = 8
THREADS = 32
ASKED = 200  # held locks that another client tries afterwards


class Bench:
    """A server, the sides that take locks there, and their figures."""

    title = ""
    requests_title = ""
    question = 0  # requests that the question for their number causes

    def __init__(self, server, found, cpu, sizes):
        self.server = server
        self.sides = found
        self.cpu = cpu
        self.sizes = sizes

    def start(self, side):
        return processes.Worker(side.command, self.cpu)

    def warm_up(self):
        """Before the first round, so that the server has compiled and allocated what it needs."""
        for side in self.sides:
            worker = self.start(side)
            worker.ask("threads", f"{side.letter}warm", RIVALS, 2 * self.sizes.warm_ms, 100)
            worker.end()

    def round(self, number, results):
        """All figures once. Every second round has the sides in reverse order."""
        order = self.sides[::-1] if number % 2 else self.sides
        with contextlib.ExitStack() as stack:
            pairs = {}
            for side in order:
                pairs[side] = self.start(side), self.start(side)
                for worker in pairs[side]:
                    stack.callback(worker.end)
            for part in (self.cycles, self.rate, self.failed_try, self.contention, self.handoff):
                for side in order:
                    add = self.adder(results, side)
                    part(side, *pairs[side], f"{side.letter}{number:02}{part.__name__[:2]}", add)
            self.mixed(results, pairs, number)
        for side in order:
            self.held(side, f"{side.letter}{number:02}he", self.adder(results, side))

    def adder(self, results, side):
        return lambda figure, value: results.add(self.title, figure, side.title, value)

    def counts(self, side):
        """@return the number of calls for warm-up, and of counted calls"""
        return [max(LEAST_CALLS, int(side.calls * each))
                for each in (self.sizes.warm, self.sizes.calls)]

    def cycles(self, side, one, _, prefix, add):
        taken = self.samples(one.ask("cycles", prefix, *self.counts(side)))
        add("lock + unlock, 1 thread, p50, µs", percentile(taken, 0.5))
        add("lock + unlock, 1 thread, p99, µs", percentile(taken, 0.99))

    def rate(self, _, one, __, prefix, add):
        rate = one.ask("threads", prefix, THREADS, self.sizes.warm_ms, self.sizes.rate_ms)
        add(f"{THREADS} threads, a name each, cycles/s", float(rate))

    def failed_try(self, side, one, other, prefix, add):
        other.ask("hold", prefix, 0, 1)
        before = self.server.requests(side.also)
        taken = self.samples(one.ask("tries", prefix, *self.counts(side)))
        requests = self.server.requests(side.also) - before - self.question
        other.ask("drop", 1)
        add("failed try, p50, µs", percentile(taken, 0.5))
        add(f"{self.requests_title} per failed try", requests / sum(self.counts(side)))

    def contention(self, side, one, _, prefix, add):
        one.ask("rivals", prefix, RIVALS)
        one.ask("contend", prefix, self.sizes.warm_ms)
        before = self.server.requests(side.also)
        grants = int(one.ask("contend", prefix, self.sizes.rate_ms))
        requests = self.server.requests(side.also) - before - self.question
        one.ask("rivals", prefix, 0)
        add(f"{self.requests_title} per grant, {RIVALS} clients", requests / grants)
        add(f"{RIVALS} clients, held 1 ms, grants/s", grants / self.sizes.rate_ms * 1000)

    def handoff(self, side, one, other, prefix, add):
        taken = self.relay(one, other, prefix, side.turns)
        add("hand-over between processes, p50, µs", percentile(taken, 0.5))
        add("hand-over between processes, p99, µs", percentile(taken, 0.99))

    def mixed(self, results, pairs, number):
        """Hand-overs between a peer and the side of Mortise that shares its locks."""
        named = {side.title: side for side in pairs}
        for ours in pairs:
            peer = named.get(ours.shares_with)
            if peer is None:
                continue
            taken = self.relay(pairs[ours][0], pairs[peer][0], f"x{number:02}mi", 1)
            for figure, some in ((f"from Mortise to {peer.title}", taken[1::2]),
                                 (f"from {peer.title} to Mortise", taken[0::2])):
                for name, share in (("p50", 0.5), ("p99", 0.99)):
                    results.add(self.title, f"{figure}, {name}, µs", ours.title,
                                percentile(some, share))

    def relay(self, first, second, prefix, share):
        """@return for each turn the time from unlock() until the other side had the lock, in µs"""
        turns = int(share * self.sizes.turns)
        uncounted = turns // UNCOUNTED // 2 * 2
        with tempfile.NamedTemporaryFile(dir=self.server.folder) as board:
            board.write(bytes(8 * (5 + turns)))
            board.flush()
            for side, worker in enumerate((first, second)):
                worker.send("relay", prefix, side, turns, board.name)
            first.answer()
            second.answer()
            words = array.array("q", pathlib.Path(board.name).read_bytes())
        # The first turn was not a hand-over.
        return [word / 1000 for word in words[5 + max(2, uncounted):]]

    def held(self, side, prefix, add):
        """One thread holds many locks, in a process that has done little else."""
        count = self.sizes.held
        self.make_room()
        holder = self.start(side)
        holder.ask("cycles", f"{prefix}w", self.counts(side)[1], 1)
        before = holder.memory_mb()
        stored = self.stored()
        add(f"take {count:,} locks, s", float(holder.ask("hold", prefix, 0, count)))
        time.sleep(1)  # work that is left of the takes
        add(f"client memory added by {count:,} locks, MB", holder.memory_mb() - before)
        add(f"client memory with {count:,} locks, total, MB", holder.memory_mb())
        self.tell_stored(stored, count, add)
        self.watch(side, holder, count, add)
        self.ask_another(side, prefix, count)
        self.let_go(holder, count)

    def watch(self, side, holder, count, add):
        figures = (f"client CPU while holding {count:,} locks, %",
                   f"server CPU while holding {count:,} locks, %",
                   f"{self.requests_title} per second while holding {count:,} locks")
        if not side.renews:
            for figure in figures:
                add(figure, None)
            return
        begin = time.monotonic()
        client, server = holder.cpu_seconds(), self.server.cpu_seconds()
        requests = self.server.requests(side.also)
        time.sleep(self.sizes.hold_seconds[self.title])
        requests = self.server.requests(side.also) - requests - self.question
        client, server = holder.cpu_seconds() - client, self.server.cpu_seconds() - server
        elapsed = time.monotonic() - begin
        for figure, value in zip(figures, (100 * client, 100 * server, requests)):
            add(figure, value / elapsed)

    def ask_another(self, side, prefix, count):
        """The holds must have lasted, or the figures mean nothing."""
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
    requests_title = "commands"

    def __init__(self, server, commands, cpu, sizes):
        super().__init__(server, sides.at_redis(server.port, commands), cpu, sizes)
        self.started = 0

    def start(self, side):
        """Holds one lock from the start. Redisson starts a timer with the first lock that it
        holds and leaves it when it frees the last: one for each lock + unlock, each of which renews
        all that is held ten seconds later. While a lock is held there is only one."""
        worker = super().start(side)
        self.started += 1
        worker.ask("hold", f"k{self.started:04}", 0, 1)
        return worker

    def make_room(self):
        self.server.flush()

    def stored(self):
        return self.server.memory()

    def tell_stored(self, before, count, add):
        add("server bytes per held lock", (self.server.memory() - before) / count)

    def let_go(self, holder, _):
        holder.kill()
        self.server.flush()


class ZooKeeperBench(Bench):
    title = "ZooKeeper"
    requests_title = "requests"
    question = 1

    def __init__(self, server, commands, cpu, sizes):
        super().__init__(server, sides.at_zookeeper(server.port, commands), cpu, sizes)

    def make_room(self):
        """Each name is new."""

    def stored(self):
        return 0

    def tell_stored(self, before, count, add):
        add(f"watches while holding {count:,} locks", self.server.watches())

    def let_go(self, holder, _):
        holder.end()  # the end of its session removes everything


BENCHES = {"redis": RedisBench, "zookeeper": ZooKeeperBench}
