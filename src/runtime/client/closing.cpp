// SPDX-License-Identifier: MIT
// The order in which closing ends what a client is made of.
#include "runtime/client/closing.hpp"

#include "base/mutant.hpp"
#include "core/figures.hpp"
#include "runtime/client/client_state.hpp"
#include "runtime/hold/slot.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

namespace mortise::runtime {
namespace {

constexpr std::chrono::milliseconds patience_with_callers{100};
constexpr std::chrono::milliseconds pause_of_looks{1};

}  // namespace

thread_local int Closing::Inside::on_this_thread = 0;

bool Closing::begin() noexcept {
  if (begun_.exchange(true)) return false;
  course_.until = BootClock::now() + core::command_timeout(core::longest_lease);
  client_.names().poke_waiters();
  client_.store().open_requests().poke();
  client_.store().ready().ring_all();
  if (!base::mutant("core.close_leaves_the_holds")) release_holds();
  // If this thread is inside of a call, in an observer, that call cannot end before close() does.
  course_.for_callers =
      is_inside_of_a_call() ? BootClock::now() + patience_with_callers : course_.until;
  return true;
}

void Closing::close() noexcept {
  if (client_.forked()) return;
  if (begin()) {
    await_releases();
    // An executor may fork in a step, and come back in the child.
    while (!client_.forked() && is_pending()) rest();
    if (!client_.forked()) finish();
    return;
  }
  const bool in_callback = Notifier::inside() || is_inside_of_a_call();
  // This may be the thread of the loop, without which a close by its steps does not end. But it
  // makes no step while it is inside of one.
  const bool may_step = client_.loop() != nullptr && !client_.store().ready().is_stepped_here();
  while (may_step && !has_ended() && (stepped_.load() || !in_callback)) {
    rest();
    if (client_.forked()) return;
  }
  // Another thread closes, and waits for the callbacks. So a callback must not wait for that
  // thread.
  if (in_callback) return;
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [this] { return has_ended_; });
}

bool Closing::is_inside_of_a_call() const noexcept {
  return Inside::is_caller() || client_.store().ready().is_stepped_here();
}

void Closing::begin_stepped() noexcept {
  if (begin()) stepped_.store(true);
}

bool Closing::advance() noexcept {
  if (!stepped_.load() || has_ended()) return has_ended();
  const auto unanswered = [](const auto& release) { return !release->done(); };
  const bool waits = std::any_of(course_.releases.begin(), course_.releases.end(), unanswered) &&
                     BootClock::now() < course_.until;
  if (waits || is_pending() || finishing_.exchange(true)) return false;
  finish();
  return true;
}

bool Closing::has_ended() noexcept {
  const std::lock_guard lock(mutex_);
  return has_ended_;
}

// What callers free or have left to be undone must not end with the connection. In this order:
// whoever frees a hold may give a waiter the attempt that was sent with the release, and a waiter
// leaves to the background what it gives up; each before it is no longer counted.
bool Closing::is_pending() noexcept {
  client_.names().poke_waiters();
  const Instant now = BootClock::now();
  const bool callers = asking_.load() > 0 || !client_.store().ready().idle();
  const bool pending = freeing_.load() > 0 || (callers && now < course_.for_callers) ||
                       !client_.store().background().idle();
  return pending && now < course_.until;
}

// A client without threads has its own work done by the thread that closes it. Another thread may
// make the last step.
void Closing::rest() noexcept {
  if (Loop* const loop = client_.loop()) loop->look();
  if (client_.forked()) return;
  std::unique_lock lock(mutex_);
  ended_.wait_for(lock, pause_of_looks, [this] { return has_ended_; });
}

void Closing::finish() noexcept {
  // The backend may have something to give back, which takes as long again where the server stands
  // still. Callbacks run meanwhile: those that block, of either kind, cost no time on top of that.
  const auto told = std::chrono::steady_clock::now() + Notifier::patience_at_close;
  client_.store().background().stop();
  client_.store().backend().stop();
  // The backend may never answer a request that has come after its end.
  client_.store().open_requests().end();
  // Calls without a thread that a server has held up until now.
  client_.store().ready().end();
  if (client_.forked()) return;  // an executor has
  client_.announcements().close(told);
  {
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
    ended_.notify_all();
  }
  if (client_.loop() == nullptr) return;
  // Other calls of `close_async()` end as well, and the program looks whether the client is closed.
  client_.store().ready().ring_all();
  client_.store().engine().interrupt();
}

void Closing::release_holds() noexcept {
  client_.names().each([&](Slot& slot) {
    slot.each_keeper([&](HoldKeeper& keeper) {
      try {
        if (std::shared_ptr<Operation> release = keeper.close()) {
          course_.releases.push_back(std::move(release));
        }
      } catch (const std::exception&) {
        // Out of memory: what was not sent ends with its lease, which nobody renews any more.
      }
    });
  });
}

void Closing::await_releases() noexcept {
  for (const std::shared_ptr<Operation>& release : course_.releases) {
    try {
      if (!client_.store().wait_done(*release, course_.until - BootClock::now())) break;
    } catch (const std::exception&) {
      // Out of memory for what this thread read for everybody: a matter of that connection.
    }
  }
}

}  // namespace mortise::runtime
