// SPDX-License-Identifier: MIT
#include "runtime/client/announcements.hpp"

namespace mortise::runtime {

// A call that is woken looks at the token, so the token comes first.
LossTask::~LossTask() {
  {
    // Not an assignment: libstdc++ 12 then counts the old source as if it were still there.
    std::stop_source over(std::nostopstate);
    over.swap(lost);
  }
  wake_calls();
}

void LossTask::run() {
  for (const Watch& each : calls_) each.was_lost->store(true);
  wake_calls();
  lost.request_stop();
}

void LossTask::wake_calls() const noexcept {
  for (const Watch& each : calls_) {
    if (const std::shared_ptr<Waker> call = each.call.lock()) call->wake();
  }
}

void LossTask::watch(Watch call) {
  std::erase_if(calls_, [](const Watch& each) { return each.call.expired(); });
  calls_.push_back(std::move(call));
}

}  // namespace mortise::runtime
