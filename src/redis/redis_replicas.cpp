// SPDX-License-Identifier: MIT
// With `replicas=n` what the master says is not the last word: parts of RedisBackend. Until n
// replicas have it too, a grant stands at the server for nobody, and a renewal moves no deadline.
#include "base/mutant.hpp"
#include "base/one_by_one.hpp"
#include "base/piecemeal_renewal.hpp"
#include "core/figures.hpp"
#include "redis/redis_backend.hpp"
#include "redis/renewal_parts.hpp"
#include "redis/rights.hpp"

#include <algorithm>
#include <utility>

namespace mortise::redis {

/// What was granted, until replicas have it or it is on its way back. All that takes is made before
/// they are asked, so that their word can be told once more where there was no memory for a step.
struct RedisBackend::Granted {
  std::shared_ptr<Acquisition> operation;
  Grant grant{};
  std::function<void()> tell;  // its caller
  std::shared_ptr<Release> back;
  bool gives_back = false;
};

void RedisBackend::answered_renewal(Server& server, const Call& call, const Reply& reply) {
  Renewal& renewal = call.renewal();
  std::vector<Renewal::Item>& items = renewal.items();
  const std::vector<std::uint64_t> codes = parse_codes(reply, "renewed", 3);
  if (codes.size() != items.size()) return nonsense(server, call);
  if (renewal.done()) return;
  for (std::size_t i = 0; i < items.size(); ++i) {
    items[i].answer = codes[i] == 0 ? Renewal::Answer::lost : Renewal::Answer::renewed;
    items[i].wanted = codes[i] == 2;
    if (codes[i] == 3) items[i].answer = Renewal::Answer::unknown;
    items[i].counted_from = call.asked;
    items[i].granted = items[i].lease;
  }
  if (witness() != nullptr) {
    return attest(server.clock(), std::static_pointer_cast<Renewal>(call.operation));
  }
  attempts_.renewed(items);
  renewal.answered();
}

// A name that this user may not use any more has the whole batch refused: each hold goes alone
// then.
bool RedisBackend::renews_apart(const Call& call, std::string_view words) {
  if (call.renewal().items().size() < 2 || what_is_refused(words) != Refused::key) return false;
  for (auto& part : parts_of(std::static_pointer_cast<Renewal>(call.operation))) {
    submit(Call::renew(std::move(part)));
  }
  return true;
}

/// @param clock that of the server that has granted it
/// @param tell has it told to its caller
void RedisBackend::attest(std::uint64_t clock, const std::shared_ptr<Acquisition>& operation,
                          const Grant& grant, std::function<void()> tell) {
  const Acquisition::Request& request = operation->request();
  const auto granted = std::make_shared<Granted>();
  granted->operation = operation;
  granted->grant = grant;
  granted->tell = std::move(tell);
  granted->back =
      std::make_shared<Release>(HoldId{request.name, request.attempt, grant.number, request.mode});
  // Nobody will read what replicas say, and what is given back now is waited for.
  if (ends_.load()) return unattested(*granted, {Errc::closed, describe()});
  if (base::mutant("redis.grant_before_the_replicas")) return attested(*granted);
  witness()->attest(clock, clock_->now() + core::command_timeout(grant.lease),
                    [this, granted](const Failure& why) {
                      if (why) return unattested(*granted, why);
                      attested(*granted);
                    });
}

void RedisBackend::attested(Granted& granted) {
  const HoldId& hold = granted.back->hold();
  if (!granted.gives_back && attempts_.confirm(hold, clock_->now())) return granted.tell();
  unattested(granted,
             {Errc::unavailable, hold.name + ": the hold ended before it could be reported"});
}

// Whoever waits asks again, as after any trouble: it is given back by then.
void RedisBackend::unattested(Granted& granted, const Failure& why) {
  Acquisition& operation = *granted.operation;
  if (!granted.gives_back) {
    // A reply and a push may both have told of it; where the other one was attested it stands.
    if (operation.done() && operation.grant().number == granted.grant.number) return;
    if (!attempts_.is_rejected(granted.back->hold())) return;
    granted.gives_back = true;
  }
  give_back(granted.back, operation.request().lease);
  if (remote::is_final(why) || stopped_.load()) {
    operation.failed(why);
  } else {
    operation.trouble(why);
  }
}

// Which hold is lost needs nobody's word, and waits for none. A deadline that is not moved is no
// harm: the server's is later than that.
void RedisBackend::attest(std::uint64_t clock, const std::shared_ptr<Renewal>& renewal) {
  std::chrono::nanoseconds lease = core::longest_lease;
  bool any = false;
  const std::vector<Renewal::Item>& items = renewal->items();
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].answer != Renewal::Answer::renewed) {
      base::tell_early(*renewal, i);
      continue;
    }
    any = true;
    lease = std::min(lease, items[i].lease);
  }
  const auto tell = [this, renewal](const Failure& why) {
    if (renewal->done()) return;
    for (Renewal::Item& item : renewal->items()) {
      if (why && item.answer == Renewal::Answer::renewed) item.answer = Renewal::Answer::unknown;
    }
    attempts_.renewed(renewal->items());
    if (why) renewal->trouble(why);
    renewal->answered();
  };
  if (!any || base::mutant("redis.renewal_before_the_replicas")) return tell({});
  witness()->attest(clock, clock_->now() + core::command_timeout(lease), tell);
}

// Whoever waits for a lock is told by the inbox, so a client that may not listen is not to learn
// that from the first lock that is not free.
// @return false: that is not known yet, and the check goes on when it is
bool RedisBackend::checked_inbox(Server& server, const Call& call) {
  const auto& check = static_cast<const Check&>(*call.operation);
  if (!check.client()) return true;  // no client that could wait
  Call again = call;
  again.once = true;
  if (!call.once) {
    open_inbox(server, *check.client());
    server.renew_inbox();
  }
  if (server.listens() || server.inbox_is_decided()) return true;
  if (!exchange_.hold_up(std::move(again))) return true;
  if (server.listens() || server.inbox_is_decided()) go_on_checking();  // in between
  return false;
}

// What became of an inbox is known.
void RedisBackend::go_on_checking() {
  base::OneByOne each;
  for (const Call& call : exchange_.take_held_up([](const Call&) { return true; }))
    each([&] { answered_check(server_of(call), call); });
  each.finish();
}

// Where replicas have not enough of what was written for that, no grant would be told either.
void RedisBackend::answered_check(Server& server, const Call& call) {
  const auto check = std::static_pointer_cast<Check>(call.operation);
  if (!checked_inbox(server, call)) return;
  if (Failure why = server.listens() ? Failure{} : server.why_deaf()) {
    return check->failed(std::move(why));
  }
  if (Failure why = cluster_ ? cluster_->stranger() : Failure{}) {
    return check->failed(std::move(why));
  }
  if (witness() == nullptr) return check->answered();
  witness()->attest(server.clock(), clock_->now() + patience, [this, check](const Failure& why) {
    if (!why) return check->answered();
    if (check.use_count() == 1) return;  // its caller has gone, and nobody would end it
    if (remote::is_final(why) || stopped_.load()) return check->failed(why);
    check->trouble(why);
    if (!check->done()) submit(Call::check(check));
  });
}

}  // namespace mortise::redis
