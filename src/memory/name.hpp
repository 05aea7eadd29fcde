// SPDX-License-Identifier: MIT
// One name of the memory server: its holders, its waiters, and who of them is next. The first
// waiter is, and with a reader all readers before the next writer.
#pragma once

#include <mortise/operation.hpp>

#include <chrono>
#include <cstdint>
#include <forward_list>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace mortise::memory {

class Link;

/// A grant of a name as the server words it: in its own time, which the client must translate.
struct ServerGrant {
  AttemptId attempt{};
  std::uint64_t number = 0;
  Instant granted_at{};
  std::chrono::nanoseconds lease{};
};

/// @thread_safety none: part of the store, under its mutex.
struct Name {
  struct Held {
    ServerGrant grant;
    std::string label;
    Instant expires;
  };
  struct Waiter {
    Acquisition::Request request;
    std::weak_ptr<Link> link;
    Instant since;
    Instant last_contact;
  };

  /// Ends the holds whose lease has ended.
  void expire(Instant now);
  /// @return what that attempt holds; null: nothing.
  [[nodiscard]] Held* held_by(const AttemptId& attempt) noexcept;
  /// Ends what that attempt holds.
  void end(const AttemptId& attempt) noexcept;
  /// Adds the hold of an attempt that was granted the name.
  void hold(Held granted, Mode mode);
  /// @return the holder, the oldest of several; empty if the name is free.
  [[nodiscard]] std::optional<Holder> holder(Instant now) const;

  /// A semaphore that is idle takes the number of permits of the next request.
  /// @return whether the semaphore has that many permits.
  [[nodiscard]] bool has_permits(std::uint32_t asked) noexcept;
  /// @return whether the holds that there are exclude another one of that mode.
  [[nodiscard]] bool excludes(Mode mode) const noexcept;
  /// @return whether an attempt that asks now is granted the name.
  [[nodiscard]] bool may_take(const Acquisition::Request& request) const;

  /// @return the waiter of that attempt; null: it does not wait.
  [[nodiscard]] Waiter* waiter(const AttemptId& attempt) noexcept;
  /// The attempt leaves the queue.
  void leave(const AttemptId& attempt) noexcept;
  /// @return the waiter whose turn it is, which leaves the queue; empty if there is none.
  [[nodiscard]] std::optional<Waiter> next(Instant now);

  /// Remembers an attempt that is over, in case that a late copy of its request arrives.
  void leave_tombstone(const AttemptId& attempt, Instant now);
  [[nodiscard]] bool has_tombstone(const AttemptId& attempt) const noexcept;
  /// @return whether the server may forget the name.
  [[nodiscard]] bool is_idle() const noexcept {
    return !held && sharing.empty() && queue.empty() && tombstones.empty();
  }

  std::optional<Held> held{};  // exclusively
  // In the order of their grants: readers, next to `held` in a downgrade only, or permits. A single
  // pointer if there are none.
  std::forward_list<Held> sharing{};
  std::uint32_t permits = 0;  // of a semaphore: how many may be held
  std::list<Waiter> queue{};  // not a deque: an empty one takes 576 bytes
  std::forward_list<std::pair<AttemptId, Instant>> tombstones{};  // until when
};

}  // namespace mortise::memory
