// SPDX-License-Identifier: MIT
#include "runtime/pending_close.hpp"

#include "base/quiet_thread.hpp"
#include "runtime/client_state.hpp"

#include <chrono>

namespace mortise::runtime {
namespace {

constexpr std::chrono::milliseconds between_looks{1};

}  // namespace

void PendingClose::start(std::unique_ptr<PendingHandler> handler, Executor* executor) {
  accept(std::move(handler), executor);
  const bool steps = client().loop() != nullptr && !client().closing().has_ended();
  if (steps) return start_accepted();
  const auto self = std::static_pointer_cast<PendingClose>(shared_from_this());
  if (client().loop() != nullptr) return end_here();
  begin_here();  // the thread may be over before this call returns
  base::detached_thread([self] {
    self->client().close();
    self->end_here();
  });
}

void PendingClose::begin() { client().closing().begin_stepped(); }

bool PendingClose::step() noexcept { return client().closing().advance(); }

Instant PendingClose::again() const noexcept { return BootClock::now() + between_looks; }

void PendingClose::deliver(PendingHandler* handler) noexcept {
  Closed result;
  hand_over(handler, &result);
}

}  // namespace mortise::runtime
