// SPDX-License-Identifier: MIT
#include "redis/topology/slot_survey.hpp"

#include "base/one_by_one.hpp"
#include "redis/store/polling.hpp"
#include "redis/store/rights.hpp"
#include "redis/store/server_error.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace mortise::redis {
namespace {

// @return true if it is wanted, and could not be reached: it may be replaced soon
bool is_missed(const Server& server) {
  const Connection& commands = server.commands();
  return !commands.up() && commands.outstanding() && server.why_down();
}

/// Who has which slot: nobody but the backend asks for it.
class LookAtSlots final : public Operation {};

}  // namespace

void SlotSurvey::want() {
  if (cluster_.want_look(parts_.now())) parts_.polling->sooner();
}

void SlotSurvey::look(Instant now) {
  const std::vector<Server*> whom = cluster_.begin_look(now);
  std::size_t asked = 0;
  base::OneByOne each;
  for (Server* const server : whom) {
    each([&] {
      parts_.exchange->submit(Call::slots(std::make_shared<LookAtSlots>(), *server));
      ++asked;
    });
  }
  for (; asked < whom.size(); ++asked) cluster_.end_look(false, now);
  each.finish();
}

Failure SlotSurvey::refuses(Server& server, const SlotTable& table) {
  Failure why = cluster_.refuses(server, table);
  if (!cluster_.is_agreed()) want();
  return why;
}

Failure SlotSurvey::refusal_of(const Server& server, const Reply& reply) const {
  if (!reply.is_error()) return {};
  Failure why = server_error(server.where(), reply.text).failure;
  if (why.code != Errc::denied) return {};
  why.text += remedy(parts_.settings, reply.text, "+cluster|slots");
  return why;
}

void SlotSurvey::answered(Server& server, const Reply& reply) {
  std::optional<SlotTable> table = parse_slots(reply, server.identity().address());
  const Failure refusal = refusal_of(server, reply);
  cluster_.note_refusal(refusal);
  if (refusal) cluster_.note_unusable(refusal);
  bool settled = table && table->whole;
  const Cluster::Verdict verdict =
      table ? cluster_.judge(server, *std::move(table)) : cluster_.judge_silence(server);
  base::OneByOne each;
  each([&] { heard(server, verdict); });
  settled = settled && (verdict.kind == Membership::Verdict::ours ||
                        verdict.kind == Membership::Verdict::agreed);
  for (const Server* const master : cluster_.masters()) {
    settled = settled && !is_missed(*master);
  }
  const Instant now = parts_.now();
  cluster_.end_look(settled, now);
  leave_unused(now);
  parts_.polling->sooner();
  each.finish();
}

void SlotSurvey::silent(Server& server) {
  base::OneByOne each;
  each([&] { heard(server, cluster_.judge_silence(server)); });
  cluster_.end_look(false, parts_.now());
  parts_.polling->sooner();
  each.finish();
}

void SlotSurvey::heard(Server& server, const Cluster::Verdict& verdict) {
  switch (verdict.kind) {
    case Membership::Verdict::ours: return follow(cluster_.learn(verdict.table.ranges));
    case Membership::Verdict::agreed:
      static_cast<void>(cluster_.learn(verdict.table.ranges));
      return follow(Cluster::Slots().set());  // no call was sent before
    case Membership::Verdict::foreign: return server.commands().mark_broken(verdict.why);
    case Membership::Verdict::split:
    case Membership::Verdict::none: {
      Failure why = verdict.why ? verdict.why : server.why_down();
      if (!why) {
        why = {Errc::unavailable,
               parts_.describe() + ": no server reports which master has which slot"};
      }
      base::OneByOne each;
      for (std::size_t i = 0; Server* const other = cluster_.nth(i); ++i) {
        each([&] { parts_.exchange->lost(*other, why, remote::is_final(why), false, {}); });
      }
      return each.finish();
    }
    case Membership::Verdict::undecided: return;
  }
}

// What waits for a server that has it no more goes to the one that has.
void SlotSurvey::follow(const Cluster::Slots& changed) {
  if (changed.none()) return;
  base::OneByOne each;
  each([&] { parts_.exchange->moved(); });
  for (const auto& operation : parts_.attempts.undecided()) {
    if (!changed.test(slot_of(operation->request().name))) continue;
    each([&] { parts_.exchange->ask(operation, true); });
  }
  each.finish();
}

// A seed that nobody needed but to learn who has what, or a server that has given its last slot
// away. While a master that the client uses is connected, servers are asked again after a pause: a
// node that an administrator moves to another cluster keeps its connections and says nothing.
void SlotSurvey::leave_unused(Instant now) {
  constexpr std::chrono::seconds kept{10};
  if (!cluster_.is_agreed()) return;
  const auto is_look = [](const Call& call) { return call.kind == Call::Kind::slots; };
  const Failure why{Errc::unavailable, parts_.describe() + ": the connection is no longer needed"};
  const std::vector<Server*> masters = cluster_.masters();
  bool any = false;
  for (std::size_t i = 0; Server* const server = cluster_.nth(i); ++i) {
    const bool is_master = std::find(masters.begin(), masters.end(), server) != masters.end();
    if (is_master && server->used() != Instant{}) {
      any = any || server->commands().up();
      continue;
    }
    if (!server->commands().up()) {
      parts_.polling->detach(*server);
      continue;
    }
    any = true;
    if (now - server->used() < kept || server->commands().pipeline().awaits(is_look)) continue;
    server->commands().mark_broken(why);  // first, or the inbox would be made anew
    server->inbox().mark_broken(why);
  }
  if (any) static_cast<void>(cluster_.want_look(now + kept));
}

}  // namespace mortise::redis
