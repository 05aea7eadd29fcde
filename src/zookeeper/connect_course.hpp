// SPDX-License-Identifier: MIT
// When a session connects, how long a try may take, and when the next one begins. Pure: no socket,
// no clock.
#pragma once

#include <mortise/clock.hpp>

#include "base/random_id.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace mortise::zookeeper {

class ConnectCourse {
 public:
  enum class State : std::uint8_t { idle, looking_up, waiting, connecting, up };

  /// @param timeout of the session, until a server has granted one
  /// @param seed of the jitter in its pauses
  ConnectCourse(std::chrono::milliseconds timeout, std::uint64_t seed) noexcept
      : timeout_(timeout), random_(seed) {}

  [[nodiscard]] State state() const noexcept { return state_; }
  /// @return the time-out of the session.
  [[nodiscard]] std::chrono::milliseconds timeout() const noexcept { return timeout_; }
  /// @return the end of this state, if nothing happens; never: it has none.
  [[nodiscard]] Instant limit() const noexcept;
  /// @return when the present connection, or the last one, was asked for.
  [[nodiscard]] Instant asked() const noexcept { return asked_; }

  // Steps.

  void look_up(Instant now) noexcept;
  /// @param servers how many there are
  void found(std::size_t servers) noexcept { servers_ = servers; }
  void connect(Instant now) noexcept;
  /// The server has answered a step of the connection.
  void came_closer(Instant now) noexcept;
  /// Nothing is tried until then.
  void wait(Instant until) noexcept;
  /// Waits less, for a new caller: see `remote::pause_of_new_request()`.
  void urge(Instant now) noexcept;
  /// Stays as it is, whatever happens.
  void stop() noexcept { state_ = State::idle; }

  // Events.

  void came_up(std::chrono::milliseconds timeout) noexcept;
  /// The server has executed a request, or refused it for good.
  void answered() noexcept;
  /// A server closed the connection instead of answering the greeting, although the client has a
  /// session.
  void turned_away(Instant now) noexcept;
  /// The connection could not be made. The next server is tried at once, until each was tried.
  void not_connected(Instant now) noexcept;
  /// There is no server to try.
  void not_found(Instant now) noexcept;
  void lost(Instant now) noexcept;
  /// The session is over, and the next one begins.
  /// @param is_expired a server has reported that, and grants the next one: it begins at once if
  /// this one was of use
  void over(Instant now, bool is_expired) noexcept;

  /// A server turns a client away that has seen more than the server has. Another server may lead
  /// on, as long as the session can be alive. If it cannot, the servers have perhaps lost what they
  /// had.
  /// @return true if the present connection is asked for without what the client has seen. The
  /// servers then know nothing of the session.
  [[nodiscard]] bool hides_seen() const noexcept { return hides_seen_; }
  /// @return true if the hosts are looked up again before the next try: after a whole round of
  /// servers their names may mean others.
  [[nodiscard]] bool looks_up_again() const noexcept {
    return failing_.tries != 0 && failing_.tries % servers_ == 0;
  }

 private:
  /// Since a request was answered.
  struct Failing {
    std::size_t tries = 0;  ///< in a row
    Instant since{};
  };
  /// The state of the present session.
  struct Session {
    Instant down_since = never;  ///< it had no connection since then
    bool is_turned_away = false;
    bool was_of_use = false;  ///< a request was answered, or a connection has stood for long
  };
  void failed(Instant now) noexcept;
  void pause(Instant now) noexcept;

  State state_ = State::idle;
  Instant limit_ = never;
  Instant soonest_{};  // of `waiting`: when to try again for a new caller
  Instant asked_{};
  Session session_{};
  bool hides_seen_ = false;
  bool is_answered_ = false;  // a request, on the present connection
  Failing failing_{};
  std::size_t servers_ = 1;
  std::chrono::milliseconds timeout_;
  base::SplitMix random_;
};

}  // namespace mortise::zookeeper
