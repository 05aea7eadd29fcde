// SPDX-License-Identifier: MIT
// The order in which closing ends what a client is made of.
#include "runtime/closing.hpp"

#include "base/mutant.hpp"
#include "core/figures.hpp"
#include "runtime/client_state.hpp"
#include "runtime/slot.hpp"

#include <chrono>
#include <exception>
#include <memory>
#include <thread>
#include <vector>

namespace mortise::runtime {
namespace {

constexpr std::chrono::milliseconds patience_with_callers{100};

}  // namespace

thread_local int Closing::Inside::on_this_thread = 0;

void Closing::close() noexcept {
  if (client_.forked()) return;
  if (!begun_.exchange(true)) {
    run();
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
    ended_.notify_all();
    return;
  }
  // Another thread closes. What runs inside of a callback must not wait for it, since it waits for
  // the callbacks.
  if (Notifier::inside() || Inside::is_caller()) return;
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [this] { return has_ended_; });
}

void Closing::run() noexcept {
  const Instant until = BootClock::now() + core::command_timeout(core::longest_lease);
  client_.names().poke_waiters();
  if (!base::mutant("core.close_leaves_the_holds")) release_holds(until);
  // Not for long where it may be one of them, in an observer, that closes the client.
  const Instant for_askers = Inside::is_caller() ? BootClock::now() + patience_with_callers : until;
  // What callers free or have left to be undone must not end with the connection. In this order:
  // whoever frees a hold may give a waiter the attempt that was sent with the release, and a waiter
  // leaves to the background what it gives up; each before it is no longer counted.
  const auto pending = [this, for_askers] {
    client_.names().poke_waiters();
    return freeing_.load() > 0 || (asking_.load() > 0 && BootClock::now() < for_askers) ||
           !client_.store().background().idle();
  };
  while (pending() && BootClock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  // The backend may have something to give back, which takes as long again where the server stands
  // still. Callbacks run meanwhile: those that block, of either kind, cost no time on top of that.
  const auto told = std::chrono::steady_clock::now() + Notifier::patience_at_close;
  client_.store().background().stop();
  client_.store().backend().stop();
  // What the backend was told, or asked, when it had ended already it may never answer.
  client_.store().open_requests().end();
  client_.announcements().close(told);
}

void Closing::release_holds(Instant until) noexcept {
  std::vector<std::shared_ptr<Operation>> releases;
  client_.names().each([&](Slot& slot) {
    slot.each_keeper([&](HoldKeeper& keeper) {
      try {
        if (std::shared_ptr<Operation> release = keeper.close()) releases.push_back(release);
      } catch (const std::exception&) {
        // Out of memory: what was not sent ends with its lease, which nobody renews any more.
      }
    });
  });
  for (const std::shared_ptr<Operation>& release : releases) {
    try {
      if (!client_.store().wait_done(*release, until - BootClock::now())) break;
    } catch (const std::exception&) {
      // Out of memory for what this thread read for everybody: a matter of that connection.
    }
  }
}

}  // namespace mortise::runtime
