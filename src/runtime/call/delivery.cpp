// SPDX-License-Identifier: MIT
// The calls themselves are the links of the queue.
#include "runtime/call/delivery.hpp"

#include "runtime/call/pending_call.hpp"
#include "runtime/call/ready_list.hpp"
#include "runtime/client/client_state.hpp"
#include "runtime/engine/engine.hpp"

#include <algorithm>
#include <utility>

namespace mortise::runtime {

void Delivery::post(std::shared_ptr<PendingCall> call) noexcept {
  if (!queue(call)) return call->complete(false);
  if (!ready_.is_driven_here()) engine_.interrupt();
}

bool Delivery::queue(const std::shared_ptr<PendingCall>& call) noexcept {
  const std::lock_guard lock(mutex_);
  if (dropped_) return false;
  PendingCall* const before = std::exchange(last_, call.get());
  (before != nullptr ? before->place().posted_after : first_) = call;
  ++size_;
  return true;
}

std::shared_ptr<PendingCall> Delivery::take() noexcept {
  const std::lock_guard lock(mutex_);
  if (!first_) return nullptr;
  std::shared_ptr<PendingCall> taken = std::move(first_);
  first_ = std::move(taken->place().posted_after);
  if (!first_) last_ = nullptr;
  --size_;
  return taken;
}

bool Delivery::waits() const noexcept {
  const std::lock_guard lock(mutex_);
  return size_ > 0;
}

std::size_t Delivery::run(std::size_t at_most) noexcept {
  {
    const std::lock_guard lock(mutex_);
    at_most = std::min(at_most, size_);
  }
  std::size_t ran = 0;
  while (ran < at_most) {
    const std::shared_ptr<PendingCall> call = take();
    if (!call) break;
    call->complete(true);
    ++ran;
    if (call->client().forked()) break;
  }
  return ran;
}

void Delivery::drop() noexcept {
  {
    const std::lock_guard lock(mutex_);
    dropped_ = true;
  }
  while (const std::shared_ptr<PendingCall> call = take()) {
    call->complete(false);
    if (call->client().forked()) return;  // by the end of its handler
  }
}

}  // namespace mortise::runtime
