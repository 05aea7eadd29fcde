// SPDX-License-Identifier: MIT
#include "redis/checks.hpp"

#include "base/one_by_one.hpp"
#include "redis/polling.hpp"
#include "redis/replica_gate.hpp"
#include "redis/topology.hpp"

#include <utility>

namespace mortise::redis {

// @return false: not yet, and the check goes on when it is
bool Checks::is_inbox_known(Server& server, const Call& call) {
  const Check& check = call.checking();
  if (!check.client()) return true;  // no client that could wait
  Call again = call;
  again.once = true;
  if (!call.once) {
    parts_.polling->open_inbox(server, *check.client());
    server.renew_inbox();
  }
  if (server.listens() || server.inbox_is_decided()) return true;
  if (!parts_.exchange->waiting().hold_up(std::move(again))) return true;
  if (server.listens() || server.inbox_is_decided()) go_on();  // in between
  return false;
}

void Checks::go_on() {
  base::OneByOne each;
  const auto all = [](const Call&) { return true; };
  for (const Call& call : parts_.exchange->waiting().take_held_up(all)) {
    each([&] { answered(parts_.topology->server_of(call), call); });
  }
  each.finish();
}

void Checks::answered(Server& server, const Call& call) {
  const auto check = std::static_pointer_cast<Check>(call.operation);
  if (!is_inbox_known(server, call)) return;
  Failure why = server.listens() ? Failure{} : server.why_deaf();
  if (!why) why = parts_.topology->stranger();
  if (why) return check->failed(std::move(why));
  if (parts_.gate == nullptr) return check->answered();
  parts_.gate->pass(server.clock(), check);
}

}  // namespace mortise::redis
