# SPDX-License-Identifier: MIT
"""A process that takes locks with redis-py or kazoo. Its arguments are the library and the server. It
reads commands from standard input, one per line, and answers each in one line. ../cpp/worker.cpp
describes the commands."""
import os
import sys
import threading
import time

import relay
from libraries import LIBRARIES

HOLD_S = 1e-3  # of a rival, and its pause before it wants the lock again


def name_of(prefix, number):
    return f"{prefix}-{int(number):06}"


def times(warm, count, call):
    """Nanoseconds per call, without the first ones."""
    taken = []
    for number in range(int(warm) + int(count)):
        begin = time.monotonic_ns()
        call()
        if number >= int(warm):
            taken.append(time.monotonic_ns() - begin)
    return " ".join(map(str, taken))


def repeat(over, call):
    """Starts a thread that repeats a call until `over`; a failure ends the process."""
    def body():
        try:
            while not over.is_set():
                call()
        except BaseException as why:  # pylint: disable=broad-except
            print("error", type(why).__name__, why, flush=True)
            os._exit(1)
    thread = threading.Thread(target=body)
    thread.start()
    return thread


class Worker:
    def __init__(self, library, where):
        self.peer = LIBRARIES[library](where)
        self.held = []
        self.rivals_ = []

    def obey(self, word, *rest):
        orders = {each.__name__: each for each in (
            self.cycles, self.tries, self.threads, self.hold, self.drop, self.refused,
            self.rivals, self.contend, self.relay)}
        return str(orders[word](*rest))

    def cycles(self, prefix, warm, count):
        lock = self.peer.handle(name_of(prefix, 0))

        def cycle():
            lock.lock()
            lock.unlock()
        return times(warm, count, cycle)

    def tries(self, prefix, warm, count):
        lock = self.peer.handle(name_of(prefix, 0))

        def one():
            if lock.try_lock():
                raise RuntimeError("a try took a lock that somebody holds")
        return times(warm, count, one)

    def threads(self, prefix, count, warm, milliseconds):
        over = threading.Event()
        cycles = [0] * int(count)

        def cycle_of(number):
            lock = self.peer.handle(name_of(prefix, number))

            def cycle():
                lock.lock()
                lock.unlock()
                cycles[number] += 1
            return cycle
        threads = [repeat(over, cycle_of(number)) for number in range(int(count))]
        time.sleep(int(warm) / 1000)
        before, begin = sum(cycles), time.monotonic()
        time.sleep(int(milliseconds) / 1000)
        rate = (sum(cycles) - before) / (time.monotonic() - begin)
        over.set()
        for thread in threads:
            thread.join()
        return rate

    def hold(self, prefix, begin, end):
        start = time.monotonic()
        for number in range(int(begin), int(end)):
            lock = self.peer.handle(name_of(prefix, number))
            lock.lock()
            self.held.append(lock)
        return time.monotonic() - start

    def drop(self, count):
        for _ in range(int(count)):
            self.held.pop().unlock()
        return "done"

    def refused(self, prefix, begin, end, step):
        count = 0
        for number in range(int(begin), int(end), int(step)):
            lock = self.peer.handle(name_of(prefix, number))
            if lock.try_lock():
                lock.unlock()
            else:
                count += 1
        return count

    def rivals(self, prefix, count):
        for rival in self.rivals_:
            rival.close()
        self.rivals_ = [self.peer.another() for _ in range(int(count))]
        for rival in self.rivals_:
            lock = rival.handle(name_of(prefix, 0))
            lock.lock()
            lock.unlock()
        return "done"

    def contend(self, prefix, milliseconds):
        over = threading.Event()
        grants = [0] * len(self.rivals_)

        def turn_of(number, rival):
            lock = rival.handle(name_of(prefix, 0))

            def turn():
                lock.lock()
                grants[number] += 1
                time.sleep(HOLD_S)
                lock.unlock()
                time.sleep(HOLD_S)
            return turn
        threads = [repeat(over, turn_of(*each)) for each in enumerate(self.rivals_)]
        time.sleep(int(milliseconds) / 1000)
        over.set()
        for thread in threads:
            thread.join()
        return sum(grants)

    def relay(self, prefix, side, turns, board):
        lock = self.peer.handle(name_of(prefix, 0))
        relay.run(lock, self.peer.period_s, int(side), int(turns), board)
        return "done"


def main():
    try:
        worker = Worker(*sys.argv[1:])
        print("ready", flush=True)
        for line in sys.stdin:
            print(worker.obey(*line.split()), flush=True)
        worker.peer.close()
    except Exception as why:  # pylint: disable=broad-except
        print("error", type(why).__name__, why, flush=True)
        os._exit(1)  # threads of clients may still run


if __name__ == "__main__":
    main()
