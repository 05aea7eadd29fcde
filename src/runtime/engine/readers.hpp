// SPDX-License-Identifier: MIT
// Who reads and who is to read next: the two roles, the way to the first of them without a mutex,
// and whom a reader that leaves hands its role on to.
#pragma once

#include <mortise/backend.hpp>

#include "base/unique_fd.hpp"
#include "runtime/engine/reader_role.hpp"
#include "runtime/engine/shortcut.hpp"

namespace mortise::runtime {

/// @thread_safety part of the engine: everything is read and changed under the engine's mutex, but
/// for what `Shortcut` says of itself, for the moments until which somebody sleeps, and for the
/// eventfds, which anybody may signal.
struct Readers {
  Readers();

  /// @return false = it is there already
  bool add_locked(Source& source);
  void remove_locked(Source& source) noexcept;
  /// Wakes everybody who polls.
  void nudge_all() const noexcept;

  /// @return the role in which the operation's caller reads.
  [[nodiscard]] ReaderRole& role_of(const Operation& operation) noexcept;
  [[nodiscard]] bool outstanding_locked() const noexcept;
  /// @return when the first of the sources of replies is due, whether anybody awaits it or not.
  [[nodiscard]] Instant due_locked() const noexcept;
  void have_replies_read_locked() noexcept;
  void close_shortcut_locked() noexcept;
  void open_shortcut_locked() noexcept;
  /// @return whether a caller that came by the shortcut may be inside of that source.
  [[nodiscard]] bool reads_by_shortcut_locked(const Source& source) const noexcept {
    return by_shortcut && shortcut.leads_to(source);
  }
  /// Nobody has the role any more: calls whoever is to have it.
  void hand_on_locked(ReaderRole& role) noexcept;

  base::UniqueFd background_wake;
  base::UniqueFd unread_timer;  // nobody has come for the pushes that a caller has left
  Shortcut shortcut;
  bool by_shortcut = false;  // who has the role of the replies came that way
  ReaderRole replies;
  ReaderRole pushes;
  bool pushes_apart = false;  // they come by sources of their own, not by those of the replies
  // The background thread, where it reads the pushes; it does not: the smallest.
  std::atomic<Instant> background_asleep_until{Instant::min()};

 private:
  [[nodiscard]] Follower* successor_locked(ReaderRole& role) noexcept;
};

}  // namespace mortise::runtime
