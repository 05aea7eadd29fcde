// SPDX-License-Identifier: MIT
// The attempts of a client at PostgreSQL: their courses, and what notifications mean for them.
#pragma once

#include <mortise/operation.hpp>

#include "postgres/waiter.hpp"
#include "remote/courses.hpp"

#include <cstdint>
#include <functional>
#include <mutex>
#include <string_view>
#include <type_traits>

namespace mortise::postgres {

/// All attempts of a client share this. A waiter removes itself from it when the waiter ends.
struct SharedByAttempts {
  std::mutex mutex{};
  Waiter::Names names{};
};

/// @thread_safety every member may be called concurrently.
class Attempts final : private SharedByAttempts, public remote::Courses<Waiter> {
 public:
  /// @param tickets whether a waiter has something at the server that must be taken back
  explicit Attempts(bool tickets) : Courses(mutex), tickets_(tickets) {}

  /// It is wanted. @return false: it is decided already, or taken back
  bool wanted(const Operation& operation);
  /// The same, and other clients ask first.
  bool give_way(const Operation& operation);
  /// A request for it leaves now. More than one under way would be repeated by the next connection,
  /// each of them, and their late answers would ask for as many again.
  /// @return false: it must not leave. One is under way, or the attempt is decided or taken back
  [[nodiscard]] bool asked(const AttemptId& attempt);
  /// The request did not leave.
  void not_sent(const AttemptId& attempt);
  /// A request for it was answered. @param stays it may have something at the server
  /// @return true if the attempt is over
  bool answered(const Operation& operation, bool stays);
  /// The connection broke before the answer. @param due see Courses::request_lost()
  void unanswered(const Operation& operation, const remote::VoidMoment& moment,
                  Instant due) noexcept;
  /// A request for it was executed, and its answer does not count: a look can show its hold now.
  void may_hold(const Operation& operation, const remote::VoidMoment& moment) noexcept {
    request_lost(operation, moment, moment.noted);
  }
  /// The server looked for a hold of the attempt. @param at when, by the clock of that number
  void executed(const AttemptId& attempt, remote::ServerTime at, std::uint64_t clock, Instant now);

  /// It was granted a hold; its operation is completed afterwards. @return as Courses::held()
  std::uint64_t held(const AttemptId& attempt, std::uint64_t number, Instant now, Instant until);
  /// The server answered the release of that hold. @return as AttemptCourse::release()
  bool released(const HoldId& hold);

  /// @return true if a lost request may still take the lock for it, or has taken it.
  [[nodiscard]] bool is_in_doubt(const AttemptId& attempt) const;

  /// Calls a member of the attempt's Waiter.
  /// @return what that returns; a value of its type if the attempt is not known
  template <class Member, class... Inputs>
  auto waiter(const AttemptId& attempt, Member member, Inputs... inputs) {
    using Returned = std::invoke_result_t<Member&, Waiter&, Inputs...>;
    return on(attempt, [&](Entry& entry) {
      return entry.more != nullptr ? std::invoke(member, *entry.more, inputs...) : Returned();
    });
  }
  /// As Waiter::ask_last(), unless the attempt is decided or taken back.
  [[nodiscard]] bool may_ask_last(const AttemptId& attempt);

  /// @return true if an attempt is taken back, or asked for a last time, and the server has not
  /// answered that.
  [[nodiscard]] bool any_taken_back() const;
  /// @return true if an attempt waits, for any name.
  [[nodiscard]] bool anybody_waits();
  /// @return the attempts that wait for a name; `first`: only that attempt, as its 24 bytes, if it
  /// is given.
  [[nodiscard]] Operations waiting(std::string_view name, std::string_view first);

 private:
  const bool tickets_;
};

}  // namespace mortise::postgres
