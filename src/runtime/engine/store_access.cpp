// SPDX-License-Identifier: MIT
#include "runtime/engine/store_access.hpp"

#include "base/one_by_one.hpp"
#include "base/printable.hpp"
#include "core/terms.hpp"
#include "runtime/client/raise.hpp"
#include "runtime/engine/attempt.hpp"

#include <exception>
#include <optional>
#include <system_error>
#include <utility>

namespace mortise::runtime {

StoreAccess::StoreAccess(std::unique_ptr<Backend> backend, const std::shared_ptr<Clock>& clock,
                         std::function<void()> clock_was_set, std::function<bool()> serve,
                         bool has_thread)
    : clock_(clock),
      real_time_(clock_ == Clock::real()),
      engine_(clock_),
      ready_(engine_),
      backend_(std::move(backend)),
      about_(backend_->describe()),
      open_requests_(about_.name),
      background_(engine_, *backend_, *clock_,
                  {.clock_was_set = std::move(clock_was_set),
                   .serve = std::move(serve),
                   .step = [this] { return step_calls(); }},
                  has_thread) {}

std::optional<Instant> StoreAccess::step_calls() noexcept {
  ready_.driven_by_this_thread();
  if (!ready_.run()) return std::nullopt;
  const Instant next = ready_.next();
  if (real_time_ || next == never || next == Instant{}) return next;
  return later(clock_->now(), next - BootClock::now());
}

StoreId StoreAccess::id() const {
  return {.words = base::printable(about_.name), .identity = backend_->identity()};
}

Failure StoreAccess::prepare(const core::Terms& terms) {
  return terms.max_hold == core::Nanos::max() ? prepare_to_ask() : start_background();
}

// A backend without leases has no connection that the background thread must look after.
Failure StoreAccess::prepare_to_ask() {
  return about_.capabilities.leases != Support::no ? start_background() : Failure();
}

Failure StoreAccess::start_background() {
  try {
    background_.start();
  } catch (const std::system_error& error) {
    return failure_of(error);
  }
  return {};
}

void StoreAccess::watch_for_suspend() noexcept {
  try {
    background_.start();
  } catch (const std::exception&) {
    // No thread or memory to be had: the caller sleeps on for the rest of its time after a suspend.
  }
}

void StoreAccess::wait(Operation& operation, std::uint32_t seen, std::chrono::nanoseconds at_most,
                       Instant now) {
  if (!backend_->wait(operation, seen, at_most)) engine_.wait(operation, seen, at_most, now);
}

bool StoreAccess::wait_done(Operation& operation, std::chrono::nanoseconds at_most, Instant began) {
  if (operation.done()) return true;
  // Real time, also under a clock that is moved by hand: these waits only bound the caller's.
  const Instant until = at_most >= never - began ? never : began + at_most;
  for (Instant now = began;; now = BootClock::now()) {
    const std::uint32_t seen = operation.signal();
    if (operation.done()) return true;
    if (now >= until) return false;
    wait(operation, seen, until - now, real_time_ ? now : clock_->now());
    if (operation.done()) return true;
  }
}

Failure StoreAccess::why_unanswered(const Operation& asked) const {
  if (std::optional<Failure> trouble = asked.trouble()) return *std::move(trouble);
  return no_answer();
}

Failure StoreAccess::no_answer(Errc code) const {
  // The message of `in_doubt` begins with it.
  if (code == Errc::in_doubt) return {code, about_.name};
  return {code, about_.name + ": no answer in time"};
}

void StoreAccess::send(const std::shared_ptr<Release>& release, Instant until) {
  try {
    backend_->release(release);
  } catch (const std::exception&) {
    // As if it was lost on its way: it is repeated.
  }
  if (until != Instant{} && !release->done()) background_.adopt(release, until);
}

void StoreAccess::undo(const Attempt& attempt) {
  const Acquisition::Request& request = attempt.request();
  const auto release = Release::undo(HoldId{.name = request.name,
                                            .attempt = request.attempt,
                                            .number = attempt.grant().number,
                                            .mode = request.mode});
  send(release, clock_->now() + request.lease);
}

void StoreAccess::abandon(const std::shared_ptr<Attempt>& attempt) {
  if (!attempt->abandon()) {
    if (attempt->grant().number != 0) undo(*attempt);
    return;
  }
  // If there is no memory to take it back, that is tried again. An attempt that was answered just
  // now is not over before its grant is given back, which close() has to wait for.
  base::OneByOne each;
  each([&] { backend_->cancel(attempt); });
  if (!attempt->is_answered()) each([&] { adopt(attempt); });
  each.finish();
}

void StoreAccess::adopt(const std::shared_ptr<Attempt>& attempt) {
  background_.adopt(attempt, attempt->gone_at(clock_->now()));
}

}  // namespace mortise::runtime
