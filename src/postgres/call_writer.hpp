// SPDX-License-Identifier: MIT
// Chooses the statement of each call of a client and its arguments, and sends it by a connection.
#pragma once

#include "postgres/parts.hpp"

#include <cstdint>

namespace mortise::postgres {

/// @thread_safety every member may be called concurrently
class CallWriter final : public Exchange::Store {
 public:
  /// @param parts outlive it
  explicit CallWriter(Parts& parts) : parts_(parts) {}

  [[nodiscard]] Pool& line_of(const Flight& /*call*/) override { return *parts_.pool; }
  // An attempt is bound to no connection, so all of them have one number.
  [[nodiscard]] remote::LineState state_of(const Pool& pool) const noexcept override {
    const bool up = pool.up();
    return {.connection = up ? 1U : 0U, .may_come_up = up || !pool.all_stuck()};
  }
  Failure want(Pool& pool, bool now) override { return pool.want(now); }
  [[nodiscard]] bool send(Pool& pool, Flight& call) override;
  void note_lost(const Pool& pool, Flight& call) noexcept override;
  void break_lines() noexcept override;
  void sooner() override;

  /// @return true if the call is not wanted any more, and must not leave.
  [[nodiscard]] bool is_withdrawn(const Call& call) const;
  /// It did not leave.
  void not_sent(Flight& call) const;
  /// A connection has calls behind a notification that may take long: they go by another one.
  void relieve() const;
  /// The same, if it has to be done now, while that connection is up.
  void held_up() const;

 private:
  [[nodiscard]] bool admit(const Call& call) const;
  [[nodiscard]] Connection::Sent send_by(Connection& connection, Flight& call) const;
  [[nodiscard]] Arguments prepare(Call& call, bool pooled) const;
  [[nodiscard]] Arguments prepare_take(Call& call, bool pooled) const;
  [[nodiscard]] Arguments prepare_cancel(Call& call) const;
  [[nodiscard]] static Arguments prepare_release(Call& call, bool pooled);
  [[nodiscard]] static Arguments prepare_recall(Call& call);
  [[nodiscard]] static Arguments prepare_wake(const Call& call);
  [[nodiscard]] bool is_notified(const Acquisition& wanted) const;

  Parts& parts_;
};

}  // namespace mortise::postgres
