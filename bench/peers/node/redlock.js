// SPDX-License-Identifier: MIT
// node-redlock 5 with one ioredis client: the part that the worker needs. ../java/Peer.java is the same.
"use strict";

const LEASE_MS = 30_000; // as the others; it has no default

class Handle {
  constructor(redlock, name) {
    this.redlock = redlock;
    this.names = [name];
    this.held = null;
  }

  async lock() {
    this.held = await this.redlock.acquire(this.names, LEASE_MS, { retryCount: -1 }); // without limit
  }

  async tryLock() {
    try {
      this.held = await this.redlock.acquire(this.names, LEASE_MS, { retryCount: 0 });
      return true;
    } catch (why) {
      for (const attempt of why.attempts ?? []) {
        for (const said of (await attempt).votesAgainst.values()) {
          if (said.name === "ResourceLockedError") return false;
        }
      }
      throw why;
    }
  }

  async unlock() {
    await this.held.release();
  }

  /** Takes the name and keeps it: `using` renews it until its routine ends. */
  take() {
    return new Promise((resolve, reject) => {
      this.done = this.redlock.using(this.names, LEASE_MS, { retryCount: -1 }, async (signal) => {
        await new Promise((drop) => {
          this.drop = drop;
          resolve();
        });
        if (signal.aborted) throw signal.error;
      });
      this.done.catch(reject);
    });
  }

  async release() {
    this.drop();
    await this.done;
  }
}

class Peer {
  constructor(load, where) {
    this.load = load;
    this.where = where;
    const Client = load("ioredis");
    const { default: Redlock } = load("redlock");
    this.client = new Client(where);
    this.redlock = new Redlock([this.client]);
    this.periodMs = this.redlock.settings.retryDelay;
  }

  handle(name) {
    return new Handle(this.redlock, name);
  }

  another() {
    return new Peer(this.load, this.where);
  }

  close() {
    return this.client.quit();
  }
}

module.exports = { Peer };
