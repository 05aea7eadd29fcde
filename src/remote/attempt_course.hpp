// SPDX-License-Identifier: MIT
// One attempt at a server, from the first request for it to the moment at which nothing of it can
// be at the server. Events come in, and each of them returns what the client has to do. It sends
// nothing and reads no clock.
#pragma once

#include <mortise/clock.hpp>

#include "remote/lost_requests.hpp"

#include <chrono>
#include <cstdint>
#include <optional>

namespace mortise::remote {

/// A number identifies each grant of a name, and grows with each of them. That number decides
/// which of two messages about an attempt is news, never their order.
/// @thread_safety one thread at a time
class AttemptCourse {
 public:
  enum class State : std::uint8_t {
    wanted,     ///< no request for it can take effect at the server
    asked,      ///< a request for it was sent
    queued,     ///< the server answered that the attempt waits
    cancelled,  ///< its caller takes it back, and repeats that until it is answered
    abandoned,  ///< its caller has an error; the client takes it back until that is answered
    held,       ///< the server granted it
    confirmed,  ///< the same, and replicas have the grant
    leaving,    ///< a hold whose release is on its way
    in_doubt,   ///< the same, and a request for that release was lost
    orphaned,   ///< granted after it was abandoned; the client gives it back
    gone,       ///< it is over, but a lost request may still take a hold for it
  };
  /// The meaning of a grant.
  enum class Meaning : std::uint8_t {
    decides,   ///< the attempt has a hold from now on
    known,     ///< of that hold, or of one before it
    unwanted,  ///< granted again, although no caller waits: give it back
  };

  [[nodiscard]] State state() const noexcept { return state_; }
  /// @return the number of its hold; 0 = it has none.
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  /// @return the connection on which it was asked for last; 0 = none.
  [[nodiscard]] std::uint64_t connection() const noexcept { return connection_; }
  [[nodiscard]] bool is_undecided() const noexcept { return number_ == 0 && state_ != State::gone; }
  /// @return true if no request may ask for it any more.
  [[nodiscard]] bool is_withdrawn() const noexcept { return state_ > State::queued; }

  /// A request for it is about to be sent.
  /// @param once not if it was asked for on that connection before
  /// @return true if the request may be sent
  [[nodiscard]] bool ask(std::uint64_t connection, bool once) noexcept;
  /// Its caller still waits. If it is gone, its hold was given back and its caller never got that:
  /// it begins again.
  void reopen() noexcept;
  /// The server refused a request for it and did nothing.
  void refuse() noexcept;
  /// The server answered that it waits.
  void wait() noexcept;
  /// Its caller takes it back. @return false: the server has nothing of it, and it is gone
  [[nodiscard]] bool cancel() noexcept;
  /// Its caller has an error, and will not take it back. @return as `cancel()`
  [[nodiscard]] bool abandon(Instant now) noexcept;
  /// The server answered that it has nothing of the attempt.
  void finish() noexcept;
  /// A look found nothing that the client would have to give back, or the client stops looking.
  void settle() noexcept;
  /// @return true if the client has to take it back, or to give back what it was granted.
  [[nodiscard]] bool is_to_be_undone() const noexcept {
    return state_ == State::abandoned || state_ == State::orphaned;
  }
  /// @return true if that was tried for so long that the server has ended it by itself.
  [[nodiscard]] bool was_tried_enough(std::chrono::nanoseconds lease, Instant now) const noexcept;

  /// The server granted it. @param until the end of the hold if nothing renews it
  Meaning grant(std::uint64_t number, Instant until) noexcept;
  /// Of two grants its operation took this one.
  void take(std::uint64_t number, Instant until) noexcept;
  /// A renewal of that hold was answered.
  void renew(std::uint64_t number, Instant until) noexcept;
  /// The server ended whatever it held up to that number. @return the number, if it held it
  std::optional<std::uint64_t> end(std::uint64_t number, Instant now) noexcept;
  /// @return true if it is a hold with that number that nothing has ended, as far as is known.
  [[nodiscard]] bool stands(std::uint64_t number, Instant now) const noexcept;
  /// Replicas have the grant with that number. @return true if its caller may get it
  [[nodiscard]] bool confirm(std::uint64_t number, Instant now) noexcept;
  /// Replicas do not have it in time. @return true if it must be given back
  [[nodiscard]] bool reject(std::uint64_t number) noexcept;
  /// Its release is about to be sent.
  void leave(std::uint64_t number) noexcept;
  /// A request for that release was lost.
  void lose_release(std::uint64_t number) noexcept;
  /// The server answered that release; or it will not be sent any more, and the hold is over at the
  /// server. @return true if an earlier one was lost, and may have been executed
  bool release(std::uint64_t number) noexcept;

  /// Requests for it that were lost.
  [[nodiscard]] LostRequests& lost() noexcept { return lost_; }
  [[nodiscard]] const LostRequests& lost() const noexcept { return lost_; }
  /// @return true if a copy of its requests may have a hold that no client knows of.
  [[nodiscard]] bool is_unresolved() const noexcept { return lost_.any() || is_to_be_undone(); }
  /// @return true if nothing depends on it any more: no message about it can come, and no lost
  /// request for it can take effect.
  [[nodiscard]] bool may_be_forgotten(Instant now) const noexcept;

 private:
  /// The server may know the attempt, whatever it refuses from now on.
  static constexpr std::uint32_t known_to_server = ~std::uint32_t{0};

  [[nodiscard]] bool is_hold(std::uint64_t number) const noexcept {
    return number_ != 0 && number_ == number;
  }

  State state_ = State::wanted;
  std::uint32_t requests_ = 0;  // that were sent and not refused
  std::uint64_t connection_ = 0;
  std::uint64_t number_ = 0;
  Instant until_{};
  Instant abandoned_at_{};
  LostRequests lost_;
};

/// @return true if the caller of that attempt has gone. A hold that replicas do not have withdraws
/// its attempt as well, but the caller of that attempt still waits.
[[nodiscard]] inline bool is_given_up(const AttemptCourse& course) noexcept {
  using enum AttemptCourse::State;
  return course.state() == cancelled || course.state() == abandoned;
}
/// @return true if the attempt may be in the queue of the server, and no later request is known to
/// take it out.
[[nodiscard]] inline bool may_be_queued(const AttemptCourse& course) noexcept {
  return course.state() == AttemptCourse::State::queued || is_given_up(course);
}

}  // namespace mortise::remote
