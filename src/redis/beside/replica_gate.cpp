// SPDX-License-Identifier: MIT
#include "redis/beside/replica_gate.hpp"

#include "base/mutant.hpp"
#include "base/piecemeal_renewal.hpp"
#include "core/figures.hpp"
#include "redis/store/polling.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>
#include <vector>

namespace mortise::redis {

/// What was granted, until replicas have it or it is on its way back. All that takes is made before
/// they are asked, so that their word can be told once more where there was no memory for a step.
struct ReplicaGate::Granted {
  std::shared_ptr<Acquisition> operation;
  Grant grant{};
  Tell tell;
  std::shared_ptr<Release> back;
  bool gives_back = false;
};

void ReplicaGate::pass(std::uint64_t clock, const std::shared_ptr<Acquisition>& operation,
                       const Grant& grant, Tell tell) {
  const Acquisition::Request& request = operation->request();
  const auto granted = std::make_shared<Granted>();
  granted->operation = operation;
  granted->grant = grant;
  granted->tell = std::move(tell);
  granted->back = Release::undo(HoldId{request.name, request.attempt, grant.number, request.mode});
  // What is given back now is waited for.
  if (is_closing_.load()) return not_acknowledged(*granted, {Errc::closed, parts_.describe()});
  if (base::mutant("redis.grant_before_the_replicas")) return acknowledged(*granted);
  witness_.attest(clock, parts_.now() + core::command_timeout(grant.lease),
                  [this, granted](const Failure& why) {
                    if (why) return not_acknowledged(*granted, why);
                    acknowledged(*granted);
                  });
}

void ReplicaGate::acknowledged(Granted& granted) {
  const HoldId& hold = granted.back->hold();
  if (!granted.gives_back && parts_.attempts.confirm(hold, parts_.now())) return granted.tell();
  not_acknowledged(granted,
                   {Errc::unavailable, hold.name + ": the hold ended before it could be reported"});
}

// Whoever waits asks again, as after any trouble: it is given back by then.
void ReplicaGate::not_acknowledged(Granted& granted, const Failure& why) {
  Acquisition& operation = *granted.operation;
  if (!granted.gives_back) {
    // A reply and a push may both have told of it; where the other one was acknowledged it stands.
    if (operation.done() && operation.grant().number == granted.grant.number) return;
    if (!parts_.attempts.is_rejected(granted.back->hold())) return;
    granted.gives_back = true;
  }
  parts_.exchange->give_back(granted.back, operation.request().lease);
  if (remote::is_final(why) || parts_.polling->is_closed()) {
    operation.failed(why);
  } else {
    operation.trouble(why);
  }
}

// Which hold is lost needs nobody's word, and waits for none. A deadline that is not moved is no
// harm: the server's is later than that.
void ReplicaGate::pass(std::uint64_t clock, const std::shared_ptr<Renewal>& renewal) {
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
    parts_.attempts.renewed(renewal->items());
    if (why) renewal->trouble(why);
    renewal->answered();
  };
  if (!any || base::mutant("redis.renewal_before_the_replicas")) return tell({});
  witness_.attest(clock, parts_.now() + core::command_timeout(lease), tell);
}

// Where replicas have not enough of what was written for that, no grant would be told either.
void ReplicaGate::pass(std::uint64_t clock, const std::shared_ptr<Check>& check) {
  witness_.attest(clock, parts_.now() + patience, [this, check](const Failure& why) {
    if (!why) return check->answered();
    if (check.use_count() == 1) return;  // its caller has gone, and nobody would end it
    if (remote::is_final(why) || parts_.polling->is_closed()) return check->failed(why);
    check->trouble(why);
    if (!check->done()) parts_.exchange->submit(Call::made(Call::Kind::check, check));
  });
}

void ReplicaGate::close() {
  is_closing_.store(true);
  witness_.lose({Errc::closed, parts_.describe()});
}

}  // namespace mortise::redis
