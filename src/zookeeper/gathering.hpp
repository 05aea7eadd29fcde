// SPDX-License-Identifier: MIT
// What becomes of a list: of the names that are held, or of those who stand in a queue, each of
// which is looked at.
#pragma once

#include <mortise/holder.hpp>
#include <mortise/listing_operation.hpp>

#include "zookeeper/kept.hpp"
#include "zookeeper/queue.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::zookeeper {

/// Guarded by the backend's mutex.
struct Gathering {
  /// What a queue is told from, or a page of keys; of each mode in the order of the replies.
  enum class From : std::uint8_t {
    lock,     ///< who has the lock, and waits for it
    permits,  ///< who has a permit of the semaphore
    gate,     ///< ... and waits for one
    kept,     ///< what is kept of the key; of a page: of the keys of that shelf
    runs,     ///< who runs the key, and waits for it; of a page: who does any of that shelf
  };
  struct Part {
    std::string node{};        ///< its name
    std::string path{};        ///< where it is looked at
    std::string name{};        ///< of a list; empty = too long to be told by the path
    From from = From::lock;    ///< of a queue
    bool there = false;        ///< of a list: it is held
    Holder holder{};           ///< of a queue: who made the node
    std::int64_t created = 0;  ///< ... and when, by the leader's clock, in milliseconds since 1970
  };
  std::vector<Part> parts{};
  std::size_t awaited = 0;  ///< replies
  std::string cursor{};     ///< of the page
  std::size_t holders = 0;  ///< of the lock
  std::size_t in_all = 0;   ///< how many stand at the lock, or the key, or wait for a permit
  Memo memo{};              ///< of a key
  std::string shelf{};      ///< of a page of keys
  std::vector<std::string> runs{};  ///< ... who runs one of that shelf, or waits: their nodes
  bool over = false;  ///< it was answered, or began anew: what is still told is of no use
};

/// Adds the next names to be looked at, in the order of their nodes; the cursor, if more are there.
/// @param where below which node those are
/// @param behind the last one that was looked at
void add_names(Gathering& gathering, const Listing& listing, const std::string& where,
               const Children& nodes, const std::string& behind);
/// Adds who stands in a lock's queue, in order, as many holders and as many waiters as are asked
/// for.
void add_lock(Gathering& gathering, const std::string& where, const Children& children,
              std::size_t limit);
void add_permits(Gathering& gathering, const std::string& where, const Children& children,
                 std::size_t limit);
/// Adds who waits for a permit, or wants a key, in order; first of these who runs it.
void add_waiters(Gathering& gathering, Gathering::From from, const std::string& where,
                 const Children& children, std::size_t limit);
[[nodiscard]] NamePage page_of(Gathering& gathering, std::string_view prefix);
/// @param marks receives the path of each holder's node
[[nodiscard]] NameQueue queue_of(const Gathering& gathering, std::size_t limit,
                                 std::vector<HoldMark>& marks);

}  // namespace mortise::zookeeper
