// SPDX-License-Identifier: MIT
// How a client reaches its store: who sends a request, who waits for the answer, who repeats what
// no caller waits for any more, and what a caller learns if no answer comes.
#pragma once

#include <mortise/backend.hpp>
#include <mortise/store_id.hpp>

#include "runtime/call/ready_list.hpp"
#include "runtime/engine/background.hpp"
#include "runtime/engine/engine.hpp"
#include "runtime/engine/open_requests.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace mortise::core {
struct Terms;
}

namespace mortise::runtime {

class Attempt;

/// @thread_safety every member may be called concurrently.
class StoreAccess {
 public:
  /// @param clock_was_set see `Background`
  /// @param serve see `Background`
  /// @param has_thread see `Background`
  StoreAccess(std::unique_ptr<Backend> backend, const std::shared_ptr<Clock>& clock,
              std::function<void()> clock_was_set, std::function<bool()> serve, bool has_thread);

  [[nodiscard]] Backend& backend() const noexcept { return *backend_; }
  [[nodiscard]] Engine& engine() noexcept { return engine_; }
  [[nodiscard]] Background& background() noexcept { return background_; }
  [[nodiscard]] OpenRequests& open_requests() noexcept { return open_requests_; }
  /// The calls without a thread.
  [[nodiscard]] ReadyList& ready() noexcept { return ready_; }
  [[nodiscard]] const std::shared_ptr<Clock>& clock() const noexcept { return clock_; }
  /// @param now by the client's clock, a moment ago. @return the real time then, or now
  [[nodiscard]] Instant real_time_at(Instant now) const noexcept {
    return real_time_ ? now : BootClock::now();
  }
  [[nodiscard]] const SafetyMargin& safety_margin() const noexcept {
    return about_.capabilities.safety_margin;
  }
  /// @return the name of the store, for messages.
  [[nodiscard]] const std::string& name() const noexcept { return about_.name; }
  /// @return which store this is, as users see it.
  [[nodiscard]] StoreId id() const;

  /// Starts what a hold under these terms needs. @return `exhausted` if that fails.
  Failure prepare(const core::Terms& terms);
  /// Starts what any other request to the backend needs. @return `exhausted` if that fails.
  Failure prepare_to_ask();
  /// Has a caller that is about to sleep woken after the machine was suspended: its sleep does not
  /// count that time.
  void watch_for_suspend() noexcept;

  /// Waits for an operation in the backend's way, or in the engine's.
  /// @param now by the client's clock, just before: so long before `at_most` has passed
  void wait(Operation& operation, std::uint32_t seen, std::chrono::nanoseconds at_most,
            Instant now);
  /// Waits until the operation is done, at most that long. @param began the real time now
  /// @return whether it is done
  bool wait_done(Operation& operation, std::chrono::nanoseconds at_most,
                 Instant began = BootClock::now());
  /// @return what keeps a request from being answered, as far as the backend knows.
  [[nodiscard]] Failure why_unanswered(const Operation& asked) const;
  /// @return the same for a request of which the backend knows nothing.
  [[nodiscard]] Failure no_answer(Errc code = Errc::unavailable) const;

  /// Hands a release to the backend; one that cannot be sent is left to be repeated.
  /// @param until of a release that no caller waits for: the client repeats it until then
  void send(const std::shared_ptr<Release>& release, Instant until = {});
  /// Gives back what an attempt was granted, without waiting.
  void undo(const Attempt& attempt);
  /// Takes an attempt back that no caller waits for, without waiting.
  void abandon(const std::shared_ptr<Attempt>& attempt);
  /// The same for one that was cancelled and abandoned already.
  void adopt(const std::shared_ptr<Attempt>& attempt);

 private:
  Failure start_background();
  [[nodiscard]] std::optional<Instant> step_calls() noexcept;

  const std::shared_ptr<Clock> clock_;
  const bool real_time_;  // that is the real one
  // In the order of their dependence: the last is destroyed first.
  Engine engine_;
  ReadyList ready_;
  const std::unique_ptr<Backend> backend_;
  const StoreDescription about_;
  OpenRequests open_requests_;
  Background background_;
};

}  // namespace mortise::runtime
