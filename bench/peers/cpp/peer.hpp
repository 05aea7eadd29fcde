// SPDX-License-Identifier: MIT
// A client of a lock library: the part that the worker needs. ../java/Peer.java is the same.
#pragma once

#include <chrono>
#include <memory>
#include <string>

namespace peers {

/// The lock on one name, owned by the thread that takes it.
class Handle {
 public:
  Handle() = default;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  virtual ~Handle() = default;

  virtual void lock() = 0;
  virtual bool try_lock() = 0;
  virtual void unlock() = 0;
  /// Takes a free name and keeps it for long.
  virtual void take() { lock(); }
  /// As `unlock()`; throws if the hold was lost and the library reports it.
  virtual void drop() { unlock(); }
};

class Peer {
 public:
  Peer() = default;
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  virtual ~Peer() = default;

  virtual std::unique_ptr<Handle> handle(const std::string& name) = 0;
  /// One more client of the same server, with its own connections.
  virtual std::unique_ptr<Peer> another() = 0;
  /// How long a waiter sleeps between two requests; zero if it is woken.
  [[nodiscard]] virtual std::chrono::microseconds period() const { return {}; }
};

/// Each library's source defines it; the program is built with one of them.
std::unique_ptr<Peer> make_peer(const std::string& url);

}  // namespace peers
