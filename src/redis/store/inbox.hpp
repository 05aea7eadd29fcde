// SPDX-License-Identifier: MIT
// What comes to the inboxes of a client.
#pragma once

#include "redis/store/grants.hpp"
#include "redis/store/parts.hpp"
#include "redis/store/reply.hpp"

#include <string>

namespace mortise::redis {

/// @thread_safety each member in the reader's role of an inbox
class Inbox {
 public:
  /// @param parts, grants outlive it
  Inbox(Parts& parts, Grants& grants) : parts_(parts), grants_(grants) {}

  void pushed(Server& server, const Reply& message);
  /// It broke. @param final there will be no other one
  void lost(const Server& server, bool final);

 private:
  void refused(Server& server, const std::string& words);
  void subscribed(Server& server, const std::string& kind, const std::string& channel);
  void granted(Server& server, Push push);
  void taken(const Push& push);

  Parts& parts_;
  Grants& grants_;
};

}  // namespace mortise::redis
