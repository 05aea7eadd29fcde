// SPDX-License-Identifier: MIT
#include "redis/topology/cluster_inboxes.hpp"

#include "base/mutant.hpp"
#include "redis/store/lock_key.hpp"
#include "redis/store/polling.hpp"

#include <optional>

namespace mortise::redis {

void ClusterInboxes::waits(Server& server, const Acquisition::Request& request) {
  if (!server.inbox().is_open()) return parts_.polling->open_inbox(server, request.attempt);
  Server& at = base::mutant("redis.inbox_of_the_wrong_node") ? *cluster_.nth(0) : server;
  if (server.inbox().state().is_up()) at.inbox().names()->wait(request.name, parts_.now());
}

void ClusterInboxes::opened(Server& server) {
  for (const auto& operation : parts_.attempts.undecided()) {
    const Acquisition::Request& request = operation->request();
    if (request.wait && &cluster_.server_of(request.name) == &server) waits(server, request);
  }
}

bool ClusterInboxes::takes_message(Server& server, const Reply& message) {
  const std::string& kind = message.items[0].text;
  const std::string& channel = message.items[1].text;
  if (!kind.starts_with('s') || !kind.ends_with("subscribe") ||
      channel == server.inbox().channel()) {
    return false;
  }
  const std::optional<std::string> name = lock_name(server.inbox().channel(), channel);
  if (!name) return true;
  if (kind == "ssubscribe") {
    if (server.inbox().names()->began(*name, parts_.now())) ask_for(*name);
  } else if (!base::mutant("redis.subscription_outlives_its_slot") &&
             server.inbox().names()->ended(*name)) {
    // Nobody asked for that: the slot has left.
    survey_.want();
    ask_for(*name);
  }
  return true;
}

void ClusterInboxes::ask_for(const std::string& name) {
  for (const auto& operation : parts_.attempts.undecided()) {
    const Acquisition::Request& request = operation->request();
    if (request.name == name && request.wait) parts_.exchange->ask(operation);
  }
}

// A master's messages come by its replicas, too, with its time; and one that was replaced is a
// replica.
void ClusterInboxes::date(Server& server, Push& push) const {
  const std::optional<Named> named = named_by(parts_.settings.prefix, push.key);
  const auto since = named ? server.inbox().names()->since(named->name) : std::nullopt;
  if (!since || &cluster_.server_of(named->name) != &server) push.clock = 0;
  push.heard_since = since.value_or(Instant{});
}

}  // namespace mortise::redis
