// SPDX-License-Identifier: MIT
// What becomes of a list: of the locks, or of those who stand in a queue, each of which is looked
// at.
#pragma once

#include <mortise/holder.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace mortise::zookeeper {

/// Guarded by the backend's mutex.
struct Gathering {
  /// The lists that a queue is told from, in the order of their replies.
  enum class From : std::uint8_t {
    lock,     ///< who has the lock, and waits for it
    permits,  ///< of the semaphore of that name: who has one
    gate,     ///< ... and waits for one
  };
  struct Part {
    std::string node{};        ///< of who is to end: its whole path
    std::string name{};        ///< of a lock; empty = too long to be told
    From from = From::lock;    ///< of a queue
    bool there = false;        ///< of a lock: it is held
    Holder holder{};           ///< of a queue: who made the node
    std::int64_t created = 0;  ///< ... and when, by the leader's clock, in milliseconds since 1970
  };
  std::vector<Part> parts{};
  std::size_t awaited = 0;  ///< replies
  std::string cursor{};     ///< of the page
  std::size_t holders = 0;  ///< of the lock
  std::size_t in_all = 0;   ///< how many stand at the lock, and wait for a permit
  bool over = false;        ///< it was answered, or began anew: what is still told is of no use
};

}  // namespace mortise::zookeeper
