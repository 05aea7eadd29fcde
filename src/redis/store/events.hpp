// SPDX-License-Identifier: MIT
// Passes what servers say to the part of a client that decides it.
#pragma once

#include "redis/store/answers.hpp"
#include "redis/store/grants.hpp"
#include "redis/store/inbox.hpp"
#include "redis/store/parts.hpp"
#include "redis/topology/topology.hpp"

#include <list>
#include <string>

namespace mortise::redis {

/// @thread_safety as Server::User
class Events final : public Server::User {
 public:
  /// @param parts outlive it
  explicit Events(Parts& parts) : parts_(parts) {}

  [[nodiscard]] Failure refuses(Server& server, const SlotTable& table) override {
    return parts_.topology->refuses(server, table);
  }
  void is_up(Server& server) override { parts_.exchange->connected(server); }
  void listens(Server& server) override {
    answers_.go_on_checking(server);
    parts_.topology->listens(server);
  }
  [[nodiscard]] bool admits(const Call& call) override;
  void matched(Server& server, const Call& call, const Reply& reply, Instant now) override {
    answers_.matched(server, call, reply, now);
  }
  void answered(Server& server, const Call& call, const Reply& reply) override {
    answers_.answered(server, call, reply);
    parts_.exchange->let_leave(server);
  }
  void pushed(Server& server, const Reply& message) override { inbox_.pushed(server, message); }
  void lost_commands(Server& server, const Failure& why, bool final, bool was_up,
                     std::list<Call> unanswered) override;
  void lost_inbox(Server& server, const Failure& why, bool final) override;

 private:
  Parts& parts_;
  Grants grants_{parts_};
  Answers answers_{parts_, grants_};
  Inbox inbox_{parts_, grants_};
};

}  // namespace mortise::redis
