# SPDX-License-Identifier: MIT
"""One side of a hand-over between two processes. ../cpp/relay.hpp describes the board."""
import mmap
import time

FAILED, GIVEN_AT, TURNS, COMING, TAKEN = 0, 1, 2, 3, 5
LOOK_AGAIN_S = 100e-6
REST_S = 3e-3
PATIENCE_S = 10


def part_of(period, turn):
    """In each turn another part of a peer's period, spread evenly by the golden ratio."""
    return period * (0.618034 * turn % 1)


def run(lock, period, side, turns, path):
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), 8 * (TAKEN + turns)) as memory, \
            memoryview(memory) as raw, raw.cast("q") as board:
        holds = []
        try:
            take_turns(lock, period, side, turns, board, holds)
        except BaseException:
            board[FAILED] = 1
            if holds:
                lock.unlock()  # or the other side would wait without end
            raise


def take_turns(lock, period, side, turns, board, holds):
    if side == 1:
        wait_until(board, lambda: board[TURNS] > 0)
    for turn in range(side, turns, 2):
        board[COMING + side] = 1
        lock.lock()
        # The same clock as C++'s steady_clock and Java's nanoTime().
        board[TAKEN + turn] = time.monotonic_ns() - board[GIVEN_AT]
        holds.append(turn)
        board[COMING + side] = 0
        board[TURNS] = turn + 1
        last = turn + 1 == turns
        if not last:
            wait_until(board, lambda: board[COMING + 1 - side] != 0)
            time.sleep(REST_S + part_of(period, turn))
        holds.clear()
        board[GIVEN_AT] = time.monotonic_ns()
        lock.unlock()
        if not last:
            wait_until(board, lambda begun=turn + 1: board[TURNS] > begun)


def wait_until(board, condition):
    until = time.monotonic() + PATIENCE_S
    while not condition():
        if board[FAILED]:
            raise RuntimeError("the other side failed")
        if time.monotonic() > until:
            raise RuntimeError("nobody comes")
        time.sleep(LOOK_AGAIN_S)
