// SPDX-License-Identifier: MIT
// A process that takes locks with node-redlock. Its arguments are a folder with node_modules and the
// server. It reads commands from standard input, one per line, and answers each in one line.
// ../cpp/worker.cpp describes the commands. Node has one thread, so tasks replace threads here.
"use strict";

const { createRequire } = require("module");
const path = require("path");
const readline = require("readline");
const { setTimeout: sleep } = require("timers/promises");

const relay = require("./relay.js");
const { Peer } = require("./redlock.js");

const HOLD_MS = 1; // of a rival, and its pause before it wants the lock again

const now = () => process.hrtime.bigint();
const secondsSince = (begin) => Number(now() - begin) / 1e9;
const nameOf = (prefix, number) => `${prefix}-${String(number).padStart(6, "0")}`;

/** Nanoseconds per call, without the first ones. */
async function times(warm, count, call) {
  const taken = [];
  for (let i = 0; i < warm + count; ++i) {
    const begin = now();
    await call();
    if (i >= warm) taken.push(now() - begin);
  }
  return taken.join(" ");
}

class Worker {
  constructor(peer) {
    this.peer = peer;
    this.held = [];
    this.others = [];
  }

  cycles(prefix, warm, count) {
    const lock = this.peer.handle(nameOf(prefix, 0));
    return times(Number(warm), Number(count), async () => {
      await lock.lock();
      await lock.unlock();
    });
  }

  tries(prefix, warm, count) {
    const lock = this.peer.handle(nameOf(prefix, 0));
    return times(Number(warm), Number(count), async () => {
      if (await lock.tryLock()) throw new Error("a try took a lock that somebody holds");
    });
  }

  async threads(prefix, count, warm, milliseconds) {
    let over = false;
    let cycles = 0;
    const tasks = Array.from({ length: Number(count) }, async (_, i) => {
      const lock = this.peer.handle(nameOf(prefix, i));
      for (; !over; ++cycles) {
        await lock.lock();
        await lock.unlock();
      }
    });
    await sleep(Number(warm));
    const before = cycles;
    const begin = now();
    await sleep(Number(milliseconds));
    const rate = (cycles - before) / secondsSince(begin);
    over = true;
    await Promise.all(tasks);
    return rate;
  }

  async hold(prefix, from, to) {
    const begin = now();
    for (let i = Number(from); i < Number(to); ++i) {
      const lock = this.peer.handle(nameOf(prefix, i));
      await lock.take();
      this.held.push(lock);
    }
    return secondsSince(begin);
  }

  async drop(count) {
    for (let left = Number(count); left > 0; --left) await this.held.pop().release();
    return "done";
  }

  async refused(prefix, from, to, step) {
    let count = 0;
    for (let i = Number(from); i < Number(to); i += Number(step)) {
      const lock = this.peer.handle(nameOf(prefix, i));
      if (await lock.tryLock()) {
        await lock.unlock();
      } else {
        ++count;
      }
    }
    return count;
  }

  async rivals(prefix, count) {
    for (const rival of this.others) await rival.close();
    this.others = Array.from({ length: Number(count) }, () => this.peer.another());
    for (const rival of this.others) {
      const lock = rival.handle(nameOf(prefix, 0));
      await lock.lock();
      await lock.unlock();
    }
    return "done";
  }

  async contend(prefix, milliseconds) {
    let over = false;
    let grants = 0;
    const tasks = this.others.map(async (rival) => {
      const lock = rival.handle(nameOf(prefix, 0));
      while (!over) {
        await lock.lock();
        ++grants;
        await sleep(HOLD_MS);
        await lock.unlock();
        await sleep(HOLD_MS);
      }
    });
    await sleep(Number(milliseconds));
    over = true;
    await Promise.all(tasks);
    return grants;
  }

  async relay(prefix, side, turns, board) {
    const lock = this.peer.handle(nameOf(prefix, 0));
    await relay.run(lock, this.peer.periodMs, Number(side), Number(turns), board);
    return "done";
  }
}

const ORDERS = new Set(["cycles", "tries", "threads", "hold", "drop", "refused", "rivals", "contend", "relay"]);

async function main(folder, where) {
  const load = createRequire(path.join(path.resolve(folder), "/"));
  const worker = new Worker(new Peer(load, where));
  console.log("ready");
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const [word, ...rest] = line.trim().split(" ");
    if (!ORDERS.has(word)) throw new Error(`no such order: ${word}`);
    console.log(String(await worker[word](...rest)));
  }
  process.exit(0); // its locks are held until then
}

process.on("unhandledRejection", (why) => {
  console.log(`error ${why}`);
  process.exit(1);
});
main(...process.argv.slice(2)).catch((why) => {
  console.log(`error ${why}`);
  process.exit(1);
});
