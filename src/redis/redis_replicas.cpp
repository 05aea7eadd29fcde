// SPDX-License-Identifier: MIT
// With `replicas=n` what the master says is not the last word: parts of RedisBackend. Until n
// replicas have it too, a grant stands at the server for nobody, and a renewal moves no deadline.
#include "core/figures.hpp"
#include "redis/redis_backend.hpp"

#include <algorithm>
#include <utility>

namespace mortise::redis {

void RedisBackend::answered_renewal(Server& server, const Call& call, const std::string& text) {
  Renewal& renewal = call.renewal();
  std::vector<Renewal::Item>& items = renewal.items();
  if (text.size() != items.size() || text.find_first_not_of("012") != std::string::npos) {
    return nonsense(server, call);
  }
  if (renewal.done()) return;
  for (std::size_t i = 0; i < items.size(); ++i) {
    items[i].answer = text[i] == '0' ? Renewal::Answer::lost : Renewal::Answer::renewed;
    items[i].wanted = text[i] == '2';
    items[i].counted_from = call.asked;
    items[i].granted = items[i].lease;
  }
  if (witness() != nullptr) return attest(std::static_pointer_cast<Renewal>(call.operation));
  attempts_.renewed(items);
  renewal.answered();
}

/// @param tell has it told to its caller
void RedisBackend::attest(const std::shared_ptr<Acquisition>& operation, const Grant& grant,
                          const std::function<void()>& tell) {
  witness()->attest(clock_->now() + core::command_timeout(grant.lease), [this, operation, grant,
                                                                         tell](const Failure& why) {
    if (why) return unattested(operation, grant, why);
    const Acquisition::Request& request = operation->request();
    const HoldId hold{request.name, request.attempt, grant.number, request.mode};
    if (attempts_.stands(hold, clock_->now())) return tell();
    unattested(operation, grant, {Errc::unavailable, request.name + ": over before it was told"});
  });
}

// Whoever waits asks again, as after any trouble: it is given back by then.
void RedisBackend::unattested(const std::shared_ptr<Acquisition>& operation, const Grant& grant,
                              const Failure& why) {
  // A reply and a push may both have told of it; where the other one was attested it stands.
  if (operation->done() && operation->grant().number == grant.number) return;
  give_back(operation->request(), grant.number);
  if (remote::is_final(why) || stopped_.load()) {
    operation->failed(why);
  } else {
    operation->trouble(why);
  }
}

// Which hold is lost needs nobody's word. A deadline that is not moved is no harm: the server's is
// later than that.
void RedisBackend::attest(const std::shared_ptr<Renewal>& renewal) {
  std::chrono::nanoseconds lease = core::longest_lease;
  bool any = false;
  for (const Renewal::Item& item : renewal->items()) {
    if (item.answer != Renewal::Answer::renewed) continue;
    any = true;
    lease = std::min(lease, item.lease);
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
  if (!any) return tell({});
  witness()->attest(clock_->now() + core::command_timeout(lease), tell);
}

}  // namespace mortise::redis
