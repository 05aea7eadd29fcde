// SPDX-License-Identifier: MIT
#include "runtime/call/pending_close.hpp"

#include "runtime/client/client_state.hpp"

#include <chrono>

namespace mortise::runtime {
namespace {

constexpr std::chrono::milliseconds between_looks{1};

}  // namespace

void PendingClose::start(std::unique_ptr<detail::Handler> handler, Executor* executor) {
  accept(std::move(handler), executor);
  const bool steps = client().loop() != nullptr && !client().closing().has_ended();
  if (steps) return start_accepted();
  end_elsewhere();
}

void PendingClose::end() noexcept { client().close(); }

void PendingClose::begin() { client().closing().begin_stepped(); }

bool PendingClose::step() noexcept { return client().closing().advance(); }

Instant PendingClose::again() const noexcept { return BootClock::now() + between_looks; }

void PendingClose::deliver(detail::Handler* handler) noexcept {
  Closed result;
  hand_over(handler, &result);
}

}  // namespace mortise::runtime
