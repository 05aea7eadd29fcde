# SPDX-License-Identifier: MIT
"""The other side of the interoperability tests: a process that takes locks by kazoo.

Which one says the fourth argument: `mutex` is its Lock, `read` and `write` its ReadLock and
WriteLock; with the patterns that are given behind it, by commas; the last is the session's time-out.
It connects to the unix socket of the test and obeys, one order a line: `take`, `try MILLISECONDS`,
`free`, `cycle TIMES FILE`; it answers each in one line.
"""
import os
import socket
import sys

from kazoo.client import KazooClient
from kazoo.exceptions import LockTimeout


def attempt(lock, milliseconds):
    """Whether the lock was taken in time."""
    try:
        return lock.acquire(timeout=milliseconds / 1000)
    except LockTimeout:
        return False


def cycle(lock, times, inside):
    """The file is there exactly while somebody holds the lock; another one counts them."""
    for _ in range(times):
        lock.acquire()
        try:
            os.close(os.open(inside, os.O_CREAT | os.O_EXCL))
            with open(inside + ".count", "ab") as count:
                count.write(b".")
            os.unlink(inside)
        except OSError:
            return "overlap"
        finally:
            lock.release()
    return "done"


def obey(lock, order):
    """The answer to an order."""
    if order[0] == "take":
        lock.acquire()
        return "taken"
    if order[0] == "try":
        return "taken" if attempt(lock, int(order[1])) else "busy"
    if order[0] == "free":
        lock.release()
        return "freed"
    if order[0] == "cycle":
        return cycle(lock, int(order[1]), order[2])
    return "unknown"


def answer_to(lock, order):
    """The same, and what it failed of."""
    try:
        return obey(lock, order)
    except Exception as why:  # pylint: disable=broad-except
        return f"failed: {type(why).__name__}"


def main(path, servers, node, kind, patterns, session):
    """Obeys until the test has gone."""
    client = KazooClient(hosts=servers, timeout=int(session) / 1000)
    client.start()
    kinds = {"mutex": client.Lock, "read": client.ReadLock, "write": client.WriteLock}
    # As docs/stores/zookeeper-interop.md asks users of kazoo to do.
    lock = kinds[kind](node, extra_lock_patterns=[each for each in patterns.split(",") if each])
    with socket.socket(socket.AF_UNIX) as test:
        test.connect(path)
        for line in test.makefile("r"):
            test.sendall((answer_to(lock, line.split()) + "\n").encode())
    client.stop()


main(*sys.argv[1:])
