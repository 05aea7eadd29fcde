// SPDX-License-Identifier: MIT
// Turns the answers of a server into results of requests.
#pragma once

#include "redis/store/grants.hpp"
#include "redis/store/parts.hpp"
#include "redis/store/reply.hpp"

#include <memory>
#include <string_view>

namespace mortise::redis {

/// @thread_safety each member in the reader's role of the connection that the answer comes by
class Answers {
 public:
  /// @param parts, grants outlive it
  Answers(Parts& parts, Grants& grants) : parts_(parts), grants_(grants) {}

  /// See Connection::User. Records a grant before the connection reads anything else, because the
  /// waiter may get a push about it before or after this reply.
  void matched(Server& server, const Call& call, const Reply& reply, Instant now);
  void answered(Server& server, const Call& call, const Reply& reply);
  /// It is known by now whether that server has an inbox, for which checks wait.
  void go_on_checking(Server& server);

 private:
  void matched_release(Server& server, const Call& call, Instant now);
  void about_attempt(Server& server, const Call& call, const Answer& answer);
  void look(Server& server, const Call& call, const Answer& answer);
  void places(Server& server, const Call& call, const Reply& reply);
  void release(Server& server, const Call& call);
  void renewal(Server& server, const Call& call, const Reply& reply);
  void force(Server& server, const Call& call);
  void recall(const Call& call, const Answer& answer);
  void check(Server& server, const Call& call);
  [[nodiscard]] bool is_inbox_known(Server& server, const Call& call);
  void list(Server& server, const Call& call, const Reply& reply);
  void queue(Server& server, const Call& call, const Reply& reply);
  void refused(Server& server, const Call& call, const Reply& reply);
  [[nodiscard]] bool renews_apart(const Call& call, std::string_view words);
  void nonsense(Server& server, const Call& call);

  Parts& parts_;
  Grants& grants_;
};

}  // namespace mortise::redis
