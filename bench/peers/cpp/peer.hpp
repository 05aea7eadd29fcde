// SPDX-License-Identifier: MIT
// A client of a library that locks: what the worker needs of it. ../java/Peer.java is the same.
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
  /// Takes a name that is free, to keep it for long.
  virtual void take() { lock(); }
  /// As `unlock()`; throws where the hold was lost, if the library tells that.
  virtual void drop() { unlock(); }
};

class Peer {
 public:
  Peer() = default;
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  virtual ~Peer() = default;

  virtual std::unique_ptr<Handle> handle(const std::string& name) = 0;
  /// A further client of the same server, with connections of its own.
  virtual std::unique_ptr<Peer> another() = 0;
  /// How long one that waits sleeps between two looks; zero where it is woken.
  [[nodiscard]] virtual std::chrono::microseconds period() const { return {}; }
};

/// Each library's file has its own; the program is built with one of them.
std::unique_ptr<Peer> make_peer(const std::string& url);

}  // namespace peers
