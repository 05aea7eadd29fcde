// SPDX-License-Identifier: MIT
// The steps of a connection in the reader's role: it is made, reads its replies, and ends.
#pragma once

#include <mortise/backend.hpp>
#include <mortise/clock.hpp>
#include <mortise/error.hpp>

#include "redis/connection/approach.hpp"
#include "redis/connection/destination.hpp"
#include "redis/connection/greeting.hpp"
#include "redis/connection/reply_input.hpp"
#include "redis/store/call.hpp"
#include "redis/store/settings.hpp"
#include "remote/link.hpp"
#include "remote/stream/pipeline.hpp"

#include <atomic>
#include <list>
#include <memory>
#include <optional>
#include <string>

namespace mortise::redis {

class Connection;
using Pipeline = remote::Pipeline<Call>;
using SentCalls = remote::SentCalls<Call>;

/// Receives the events of a connection.
class ConnectionUser {
 public:
  virtual ~ConnectionUser() = default;
  /// See Pipeline::Admits. Calls nothing of the connection.
  [[nodiscard]] virtual bool admits(const Call& call) = 0;
  /// The reply to a call was read, and nothing else is read before this returns. `answered()` comes
  /// next. Calls nothing of the connection.
  /// @param now when the reply was read; unset for a release that was alone
  virtual void matched(const Call& /*call*/, const Reply& /*reply*/, Instant /*now*/) {}
  /// The server is acceptable by itself; nothing but the greeting was sent. May drop it.
  virtual void greeted(Connection& connection, const ServerFacts& facts) = 0;
  /// Calls can be sent.
  virtual void connected(Connection& connection) = 0;
  /// The reply to the oldest call.
  virtual void answered(const Call& call, const Reply& reply) = 0;
  /// `due()` or `interest()` has changed. Notify the host, in the name of the object that the user
  /// has attached to it for this connection. Any thread calls it, under no mutex of the connection.
  virtual void changed(Connection& connection) = 0;
  /// A message that answers no call (an inbox).
  virtual void pushed(const Reply& message) = 0;
  /// It broke, or could not be made. The server may have executed the unanswered calls or not.
  virtual void dropped(Connection& connection, const Failure& why, bool was_up,
                       std::list<Call> unanswered) = 0;
};

/// Only the reader's role makes, greets and drops a connection, so no step of that has to expect
/// another step in between. Other threads mark the connection, and have it looked at.
/// @thread_safety one thread at a time, except for `approach()` and `is_inbox()`
class ConnectionLife {
 public:
  /// The state that other threads use as well.
  struct Shared {
    Destination& destination;
    remote::Link& link;
    Pipeline& pipeline;
    std::atomic<int>& descriptor;
  };
  /// @param connection, user, settings, tls, sentinels outlive it; the last two may be null
  ConnectionLife(Connection& connection, ConnectionUser& user, Host& host, const Settings& settings,
                 const remote::Tls* tls, std::string inbox, Shared shared, Sentinels* sentinels);

  /// Does what is due.
  void advance(Instant now);
  /// Sleeps for a reply. @return false: nothing came
  [[nodiscard]] bool linger();
  /// See Connection.
  void drop(const Failure& why);
  [[nodiscard]] std::list<Call> close() noexcept;
  /// Keeps requests back: more are about to come.
  void gather() { pipeline_.bytes().gather(clock_->now()); }
  [[nodiscard]] const Approach& approach() const noexcept { return approach_; }
  [[nodiscard]] bool is_inbox() const noexcept { return !inbox_.empty(); }

 private:
  void go_on(Instant now);
  /// See Pipeline::take_step().
  template <class Step>
  [[nodiscard]] bool takes_step(Step step);
  void begin(Instant now);
  void come_closer(Instant now);
  void follow(std::unique_ptr<remote::Stream> stream);
  void give_up_address(const Failure& why, Instant now);
  [[nodiscard]] bool receive(bool sleeps);
  void take_replies();
  void take(const Reply& reply);
  void take_greeting(const Reply& reply);
  void take_answer(const Reply& reply);
  void check_time(Instant now);
  [[nodiscard]] Failure failure(Failure why) const;
  [[nodiscard]] Failure unavailable(const char* words) const;
  void rest() noexcept;

  Connection& connection_;
  ConnectionUser& user_;
  Destination& destination_;
  const Settings& settings_;
  const std::string inbox_;
  const std::shared_ptr<Clock> clock_;
  remote::Link& link_;
  Pipeline& pipeline_;
  std::atomic<int>& descriptor_;
  Approach approach_;
  std::optional<Greeting> greeting_;
  ReplyInput input_;
};

}  // namespace mortise::redis
