// SPDX-License-Identifier: MIT
// Passes what the connections of a client report to the part of the client that decides it.
#pragma once

#include "postgres/answers.hpp"
#include "postgres/call_writer.hpp"
#include "postgres/parts.hpp"

#include <string>

namespace mortise::postgres {

/// @thread_safety as Connection::User
class Events final : public Connection::User {
 public:
  /// @param parts, writer, yields outlive it
  Events(Parts& parts, CallWriter& writer, Yields& yields)
      : parts_(parts), writer_(writer), answers_(parts, yields) {}

  void connected(Connection& connection) override;
  void answered(Flight& call, const Result& result) override;
  [[nodiscard]] bool withdrawn(const Call& call) const override {
    return writer_.is_withdrawn(call);
  }
  void dismissed(Flight& call) override { writer_.not_sent(call); }
  void held_up() override { writer_.held_up(); }
  void replaced() override;
  void notified(const std::string& payload) override;
  void stuck(const ServerError& why, Flights unanswered, Flights unsent) override;
  void answered_late(const Call& call, const Result* result) override;
  void dropped(Connection& connection, const ServerError& why, bool was_up,
               Flights unanswered) override;

  /// The names of servers lead elsewhere. A hold at the old server is lost if the new server does
  /// not know it.
  void name_moved();

 private:
  void lost(const ServerError& why, bool was_up, Flights unanswered);

  Parts& parts_;
  CallWriter& writer_;
  Answers answers_;
};

}  // namespace mortise::postgres
