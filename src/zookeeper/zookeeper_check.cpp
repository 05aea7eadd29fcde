// SPDX-License-Identifier: MIT
// "Can locks be taken?" Does what a lock does, at a name that nobody locks: makes the nodes above,
// lists the queue, and makes a node there that goes again in the same transaction, so that nothing
// is left of it. The leader has that committed, which proves more than any answer of the server
// that the client is connected to.
#include "base/random_id.hpp"
#include "remote/outbox.hpp"
#include "zookeeper/lock_path.hpp"
#include "zookeeper/zookeeper_backend.hpp"

#include <utility>

namespace mortise::zookeeper {
namespace {

/// The nodes above may be removed between their making and their use, for they are empty.
constexpr std::size_t most_checks = 3;

/// With `acl=creator` each user has a name of its own: what one has made there, and the servers
/// have not removed yet, is closed to the others, whose locks are theirs.
std::string probed_name(const Settings& settings) {
  std::string name(remote::probed_name);
  const std::string& user = settings.credentials.user;
  return settings.creator_only && !user.empty() ? name + '-' + user : name;
}

}  // namespace

std::optional<Failure> ZooKeeperBackend::too_short(std::chrono::nanoseconds lease,
                                                   const Session& session) const {
  if (lease >= session.timeout()) return std::nullopt;
  const auto asked = std::chrono::duration_cast<std::chrono::milliseconds>(lease);
  return Failure{Errc::misconfigured,
                 where_ + ": the session timeout is " + std::to_string(session.timeout().count()) +
                     " ms, which is longer than the lease of " + std::to_string(asked.count()) +
                     " ms; lower session in the URL, or raise the lease"};
}

// @return false: there is no connection
bool ZooKeeperBackend::send_check(Session& session, const Call& call) {
  const std::string queue = lock_path(settings_.root, probed_name(settings_));
  Call check = call;
  check.path = queue;
  check.refusal = std::make_shared<Failure>();
  for (const std::string& level : levels_of(queue)) {
    Call parent = check;
    parent.step = Step::check_parent;
    parent.path = level;
    if (!session.create_parent(level, true, {}, std::move(parent))) return false;
  }
  Call list = check;
  list.step = Step::check_list;
  if (!session.list_in_sync(queue, std::move(list))) return false;
  const std::string node = path_below(queue, hexadecimal(base::random_bits()) + "-check");
  std::vector<Write> writes{{.kind = Write::Kind::create_own, .path = node}};
  writes.push_back({.kind = Write::Kind::remove, .path = node});
  return session.write(std::move(writes), std::move(check));
}

// Whether it matters the node below it shows: perhaps it was there already.
void ZooKeeperBackend::checked_parent(Session& session, const Call& call, const Reply& reply) {
  switch (reply.code) {
    case Code::ok:
    case Code::exists:
    case Code::no_node:
    case Code::unknown:
    case Code::ended:
    case Code::not_done: return;
    case Code::unsupported: return session.no_containers();
    default: *call.refusal = failure_of(reply, call.path);
  }
}

void ZooKeeperBackend::checked(Session& session, const Call& call, const Reply& reply) {
  const auto check = std::static_pointer_cast<Check>(call.operation);
  const bool no_parent = reply.code == Code::no_node && !*call.refusal;
  if (no_parent && call.count < most_checks) {
    Call again = call;
    ++again.count;
    return submit(std::move(again));
  }
  std::optional<Failure> why;
  if (reply.code == Code::ok) {
    why = too_short(check->lease(), session);
  } else if (reply.code == Code::no_node && *call.refusal) {
    why = *call.refusal;
  } else {
    why = failure_of(reply, call.path);
  }
  then([check, why] { why ? check->failed(*why) : check->answered(); });
}

}  // namespace mortise::zookeeper
