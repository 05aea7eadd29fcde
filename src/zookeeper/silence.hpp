// SPDX-License-Identifier: MIT
// For how long a server has owed an answer on one connection. Pure: the time is an argument.
#pragma once

#include <mortise/clock.hpp>

namespace mortise::zookeeper {

class Silence {
 public:
  /// Requests have left. They count from then, and not from when they were asked for: if the
  /// process stood still in between, that is not the server's silence.
  void sent(Instant now) noexcept {
    if (since_ == never) since_ = now;
  }
  /// The server has answered a request. @param owes_more it owes the answer to another one
  void heard(Instant now, bool owes_more) noexcept {
    was_heard_ = true;
    since_ = owes_more ? now : never;
  }
  /// It owes no answer any more.
  void end() noexcept { since_ = never; }
  /// @return since when it has owed an answer and given none; never: it owes none.
  [[nodiscard]] Instant since() const noexcept { return since_; }
  /// @return true if it has answered a request on this connection.
  [[nodiscard]] bool was_heard() const noexcept { return was_heard_; }

 private:
  Instant since_ = never;
  bool was_heard_ = false;
};

}  // namespace mortise::zookeeper
