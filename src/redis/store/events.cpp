// SPDX-License-Identifier: MIT
#include "redis/store/events.hpp"

#include "base/mutant.hpp"
#include "base/one_by_one.hpp"
#include "redis/store/polling.hpp"

#include <utility>

namespace mortise::redis {

bool Events::admits(const Call& call) {
  Attempts& attempts = parts_.attempts;
  const bool admitted =
      call.kind == Call::Kind::acquire
          ? attempts.asked(call.shared_acquisition(), call.written.generation, call.once)
          : !call.written.goes_on ||
                attempts.asked(call.releasing().successor(), call.written.generation);
  return admitted || base::mutant("redis.send_what_is_withdrawn");
}

void Events::lost_commands(Server& server, const Failure& why, bool final, bool was_up,
                           std::list<Call> unanswered) {
  const bool for_good = final && parts_.topology->is_needed(why);
  parts_.exchange->lost(server, why, for_good, was_up, std::move(unanswered));
}

void Events::lost_inbox(Server& server, const Failure& /*why*/, bool final) {
  if (parts_.polling->is_closed()) return;
  base::OneByOne each;
  each([&] { answers_.go_on_checking(server); });
  each([&] { inbox_.lost(server, final); });
  each.finish();
}

}  // namespace mortise::redis
