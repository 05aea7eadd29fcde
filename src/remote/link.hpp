// SPDX-License-Identifier: MIT
// The life of a connection, without the connection: idle, and then again and again resolved,
// connected, greeted and up, until it breaks. It opens nothing and reads no clock. A backend's
// connection has the socket: it tells what happened and when, and asks what is due.
#pragma once

#include <mortise/clock.hpp>

#include "base/random_id.hpp"
#include "remote/connect_limit.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace mortise::remote {

/// Any thread may want it, suspect it, mark it broken, and ask; those who poll ask without a mutex.
/// What changes its state belongs to the reader's role, which one thread at a time has.
/// @thread_safety as said with each group of members
class Link {
 public:
  enum class State : std::uint8_t { idle, resolving, connecting, greeting, up };

  /// @param seed of the jitter in its pauses
  explicit Link(std::uint64_t seed) noexcept : random_(seed) {}

  // Any thread.

  /// It is to connect, and to stay so. @param now true: a new request wants it, which waits less
  /// for the back-off to pass
  /// @return whether it is due earlier: whoever polls has to be told
  [[nodiscard]] bool want(bool now) noexcept;
  /// Its next try leads to another server, for which the failures so far do not count.
  void lead_elsewhere() noexcept { urgency_.store(Urgency::elsewhere); }
  /// It is to be looked at soon, although nobody awaits a reply: it may be broken.
  void suspect() noexcept { suspect_.store(true); }
  /// It is of no use any more, or not going to be, and to be dropped by the reader's role.
  void mark_broken() noexcept { broken_.store(true); }

  [[nodiscard]] State state() const noexcept { return state_.load(); }
  [[nodiscard]] bool is_wanted() const noexcept { return wanted_.load(); }
  [[nodiscard]] bool is_broken() const noexcept { return broken_.load(); }
  [[nodiscard]] bool is_suspect() const noexcept { return suspect_.load(); }
  /// @return whether requests can be sent by it.
  [[nodiscard]] bool is_up() const noexcept { return state() == State::up && !is_broken(); }
  /// @return whether it is being made.
  [[nodiscard]] bool is_under_way() const noexcept {
    const State state = this->state();
    return state == State::resolving || state == State::connecting;
  }
  /// @return when the reader's role has something to do, whatever comes.
  /// @param of_calls says it of what is under way; asked only while it is up and not to be looked
  /// at anyway
  template <class OfCalls>
  [[nodiscard]] Instant due(OfCalls of_calls) const {
    const State state = state_.load();
    if (state == State::idle && !wanted_.load()) return never;
    if (state == State::idle) return next_try();
    if (state != State::idle && is_broken()) return Instant{};
    if (state != State::up) return limit();
    if (is_suspect()) return Instant{};
    return of_calls();
  }
  /// @return whether something is awaited. @param calls whether any is under way
  [[nodiscard]] bool is_outstanding(bool calls) const noexcept {
    if (state() != State::up) return is_wanted();
    return calls || is_broken() || is_suspect();
  }

  // The reader's role.

  /// @return whether a try has to begin now.
  [[nodiscard]] bool is_to_begin(Instant now) const noexcept {
    return state() == State::idle && is_wanted() && next_try() <= now;
  }
  /// A try begins.
  void begin(Instant now) noexcept;
  /// It goes on with another server, which has a time of its own.
  void next_server(Instant now) noexcept {
    since_ = now;
    set_limit(connect_limit(now, now));
  }
  /// The server has delivered something, and a further step follows.
  void came_closer(Instant now) noexcept { set_limit(connect_limit(since_, now)); }
  /// It has come so far; not for `idle` and `up`.
  void enter(State state) noexcept { state_.store(state); }
  /// It is greeted. Of what use that is, is not known yet.
  void came_up(Instant now) noexcept;
  /// Its user has not refused it when it was told. Who is refused is no success, or it would be
  /// connected to again without a pause.
  void is_welcome() noexcept {
    // It may be broken already: its user had no memory for what was to be said first.
    if (state() != State::up || is_broken()) return;
    proved_.welcome = true;
    failing_.tries = 0;
  }
  /// An answer made sense, or something that was told: the next pause is short. A server that
  /// greets, and then hangs up, must not be connected to without a pause.
  void made_sense() noexcept {
    if (state() != State::up) return;
    proved_.of_use = true;
    failing_.useless = 0;
  }
  /// It is about to be dropped for something that made none. What is repeated on each connection,
  /// and answered with nonsense each time, must not have it made without a pause either.
  void made_no_sense() noexcept { proved_.of_use = false; }
  /// It was looked at.
  void looked() noexcept { suspect_.store(false); }
  /// Why it has to be given up, as far as its life tells.
  enum class End : std::uint8_t { none, name_is_late, connection_is_late, broken };
  [[nodiscard]] End end(Instant now) const noexcept;
  /// It broke, or could not be made: idle, and not wanted until that is said again, which is
  /// followed after a pause.
  void drop(Instant now) noexcept;
  /// It was left in peace: idle, and whoever wants it again does not wait.
  void leave() noexcept;

 private:
  /// Since a connection was of use.
  struct Failing {
    std::size_t tries = 0;    ///< in a row
    std::size_t useless = 0;  ///< connections in a row that were greeted and of no use
    Instant since{};
  };
  /// Of this connection.
  struct Proved {
    bool welcome = false;
    bool of_use = false;
  };
  [[nodiscard]] Instant limit() const noexcept { return Instant(Instant::duration(limit_.load())); }
  /// Whose pause counts in `idle`.
  enum class Urgency : std::uint8_t { none, new_request, elsewhere };
  [[nodiscard]] Instant next_try() const noexcept {
    const Urgency urgency = urgency_.load();
    if (urgency == Urgency::elsewhere) return Instant{};
    if (urgency == Urgency::new_request) return Instant(Instant::duration(soonest_.load()));
    return limit();
  }
  void set_limit(Instant limit) noexcept { limit_.store(limit.time_since_epoch().count()); }

  std::atomic<State> state_{State::idle};
  std::atomic<bool> wanted_{false};
  std::atomic<Urgency> urgency_{Urgency::none};
  std::atomic<bool> suspect_{false};
  std::atomic<bool> broken_{false};
  std::atomic<Instant::rep> limit_{0};    // of this state; of `idle`: when to try again
  std::atomic<Instant::rep> soonest_{0};  // of `idle`: when to try again for a new request
  // Of the reader's role.
  Failing failing_{};
  Proved proved_{};
  Instant since_{};  // this server is tried, or it is up
  base::SplitMix random_;
};

/// @return what that is called in messages.
[[nodiscard]] const char* words_of(Link::End end) noexcept;

}  // namespace mortise::remote
