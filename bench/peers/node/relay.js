// SPDX-License-Identifier: MIT
// One side of a hand-over between two processes. ../cpp/relay.hpp describes the board. Node cannot map
// memory; it reads and writes the file that the others map. The file is in memory.
"use strict";

const fs = require("fs");
const { setTimeout: sleep } = require("timers/promises");

const [FAILED, GIVEN_AT, TURNS, COMING, TAKEN] = [0, 1, 2, 3, 5];
const LOOK_AGAIN_MS = 1; // the shortest timer of Node
const REST_MS = 3;
const PATIENCE_MS = 10_000;

class Board {
  constructor(path) {
    this.file = fs.openSync(path, "r+");
    this.word = Buffer.alloc(8);
  }

  get(place) {
    fs.readSync(this.file, this.word, 0, 8, 8 * place);
    return this.word.readBigInt64LE();
  }

  set(place, value) {
    this.word.writeBigInt64LE(BigInt(value));
    fs.writeSync(this.file, this.word, 0, 8, 8 * place);
  }

  async until(condition) {
    const end = Date.now() + PATIENCE_MS;
    while (!condition()) {
      if (this.get(FAILED) !== 0n) throw new Error("the other side failed");
      if (Date.now() > end) throw new Error("nobody comes");
      await sleep(LOOK_AGAIN_MS);
    }
  }
}

/** In each turn another part of a peer's period, spread evenly by the golden ratio. */
function partOf(period, turn) {
  return period * ((0.618034 * turn) % 1);
}

async function takeTurns(lock, period, side, turns, board, held) {
  if (side === 1) await board.until(() => board.get(TURNS) > 0n);
  for (let turn = side; turn < turns; turn += 2) {
    board.set(COMING + side, 1);
    await lock.lock();
    // The same clock as C++'s steady_clock and Java's nanoTime().
    const now = process.hrtime.bigint();
    board.set(TAKEN + turn, now - board.get(GIVEN_AT));
    held.lock = lock;
    board.set(COMING + side, 0);
    board.set(TURNS, turn + 1);
    const last = turn + 1 === turns;
    if (!last) {
      await board.until(() => board.get(COMING + 1 - side) !== 0n);
      await sleep(REST_MS + partOf(period, turn));
    }
    held.lock = null;
    board.set(GIVEN_AT, process.hrtime.bigint());
    await lock.unlock();
    if (!last) await board.until(() => board.get(TURNS) > BigInt(turn + 1));
  }
}

async function run(lock, period, side, turns, path) {
  const board = new Board(path);
  const held = { lock: null };
  try {
    await takeTurns(lock, period, side, turns, board, held);
  } catch (why) {
    board.set(FAILED, 1);
    if (held.lock) await held.lock.unlock(); // or the other side would wait without end
    throw why;
  } finally {
    fs.closeSync(board.file);
  }
}

module.exports = { run };
