// SPDX-License-Identifier: MIT
// The sessions as the leader tracks them: it alone ends them, on its own clock, in whole ticks.
#pragma once

#include "simulation/server.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

namespace simulation::zookeeper {

class Sessions {
 public:
  /// @param now of the leader's clock that never steps
  Sessions(Nanos tick, Nanos now);

  /// Begins to track it, or touches it.
  void track(std::int64_t session, std::int32_t timeout_ms, Nanos now);
  /// It gave a sign of life. @return false: unknown, or about to end
  bool touch(std::int64_t session, std::int32_t timeout_ms, Nanos now);
  /// @param owner the server to which its client is connected
  /// @return `code::ok`, `unknown_session`, `session_expired` or `session_moved`
  [[nodiscard]] std::int32_t check(std::int64_t session, std::size_t owner);
  /// @return false: unknown, or about to end
  bool set_owner(std::int64_t session, std::size_t owner);
  /// Its end is on its way: no more touches, no more requests.
  void set_closing(std::int64_t session);
  void remove(std::int64_t session);
  /// @return when to look for the next ones that are over.
  [[nodiscard]] Nanos next() const noexcept { return next_; }
  /// @return those that are over now, each once; they are closing from here on.
  [[nodiscard]] std::vector<std::int64_t> over(Nanos now);

 private:
  static constexpr std::size_t nobody = static_cast<std::size_t>(-1);
  struct Session {
    Nanos expires{};
    bool closing = false;
    std::size_t owner = nobody;
  };

  [[nodiscard]] Nanos next_tick(Nanos time) const noexcept { return (time / tick_ + 1) * tick_; }
  void expire_at(std::int64_t session, Session& entry, Nanos when);

  const Nanos tick_;
  Nanos next_;
  std::map<std::int64_t, Session> sessions_;
  std::map<Nanos, std::set<std::int64_t>> by_expiry_;
};

}  // namespace simulation::zookeeper
