// SPDX-License-Identifier: MIT
// What our own connections offer to the threads that poll them beside `Source`: a system call less
// for a caller that is alone, and one send for many that ask at once. Nothing depends on it, so it
// is not a part of the interface that a backend has to know.
#pragma once

#include <mortise/backend.hpp>

namespace mortise::base {

class TunedSource : public Source {
 public:
  /// Sleeps for a reply that is outstanding, and handles it as `ready()` would: one system call
  /// instead of two. A few milliseconds at most, since nothing can call it back; and not at all
  /// unless a reply is outstanding. Another thread may call `ready()` meanwhile, which then returns
  /// at once.
  /// @return false: it cannot, or nothing came; the caller polls
  virtual bool linger() { return false; }
  /// Keeps requests back from now on, since several are about to be made by one caller. Called from
  /// any thread, and `send_gathered()` soon after.
  virtual void gather() {}
  /// @return whether requests are kept back, since several callers were just answered at once and
  /// will ask again in a moment. Asked after `ready()` and `linger()`; called from any thread.
  [[nodiscard]] virtual bool gathering() const noexcept { return false; }
  /// Sends what was kept back, and keeps nothing back any more. Called from any thread, as soon as
  /// the last of those callers runs.
  virtual void send_gathered() {}
};

}  // namespace mortise::base
