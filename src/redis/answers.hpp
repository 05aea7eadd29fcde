// SPDX-License-Identifier: MIT
// What a server answers to calls, and what that makes of requests.
#pragma once

#include "redis/checks.hpp"
#include "redis/grants.hpp"
#include "redis/parts.hpp"
#include "redis/reply.hpp"

#include <memory>
#include <string_view>

namespace mortise::redis {

/// @thread_safety each member in the reader's role of the connection that the answer comes by
class Answers {
 public:
  /// @param parts, grants, checks outlive it
  Answers(Parts& parts, Grants& grants, Checks& checks)
      : parts_(parts), grants_(grants), checks_(checks) {}

  /// As of Connection::User. What attempts hold is recorded before anything else is read: a waiter
  /// may get a push as well, before or after this reply.
  void matched(Server& server, const Call& call, const Reply& reply, Instant now);
  void answered(Server& server, const Call& call, const Reply& reply);

 private:
  void matched_release(Server& server, const Call& call, Instant now);
  void about_attempt(Server& server, const Call& call, const Answer& answer);
  void look(Server& server, const Call& call, const Answer& answer);
  void places(Server& server, const Call& call, const Reply& reply);
  void release(Server& server, const Call& call);
  void renewal(Server& server, const Call& call, const Reply& reply);
  void force(Server& server, const Call& call);
  void recall(const Call& call, const Answer& answer);
  void list(Server& server, const Call& call, const Reply& reply);
  void queue(Server& server, const Call& call, const Reply& reply);
  void refused(Server& server, const Call& call, const Reply& reply);
  void refused_release(const Call& call, Failure why, bool final, bool later);
  void refused_attempt(const Call& call, Failure why, bool is_halfway);
  [[nodiscard]] bool renews_apart(const Call& call, std::string_view words);
  void nonsense(Server& server, const Call& call);
  void repeat_later(const Call& call);

  Parts& parts_;
  Grants& grants_;
  Checks& checks_;
};

}  // namespace mortise::redis
