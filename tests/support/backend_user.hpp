// SPDX-License-Identifier: MIT
// A caller of one backend, for tests of that backend alone: makes requests, waits for them as the
// library does, but re-asks only where it is told to, so that a lost wake-up shows.
#pragma once

#include <mortise/backend.hpp>

#include "support/fake_host.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace mortise::test {

/// @thread_safety every member may be called concurrently.
class BackendUser {
 public:
  explicit BackendUser(std::unique_ptr<Backend> backend) : backend_(std::move(backend)) {
    backend_->start(host_);
  }
  BackendUser(const BackendUser&) = delete;
  BackendUser& operator=(const BackendUser&) = delete;
  ~BackendUser() { backend_->stop(); }

  [[nodiscard]] Backend& backend() noexcept { return *backend_; }
  [[nodiscard]] FakeHost& host() noexcept { return host_; }

  /// @return a new attempt, not sent yet.
  [[nodiscard]] std::shared_ptr<Acquisition> attempt(const std::string& name, bool wait,
                                                     const std::string& label = "test") {
    // The process-wide counter keeps the attempts of several users apart.
    static std::atomic<std::uint64_t> next{1};
    return std::make_shared<Acquisition>(
        Acquisition::Request{.attempt = {.client_high = 1, .client_low = 2, .sequence = next++},
                             .name = name,
                             .mode = Mode::exclusive,
                             .lease = std::chrono::seconds(30),
                             .label = label,
                             .wait = wait});
  }
  [[nodiscard]] static HoldId hold_of(const Acquisition& granted) {
    return {.name = granted.request().name,
            .attempt = granted.request().attempt,
            .number = granted.grant().number,
            .mode = granted.request().mode};
  }

  /// Waits until the operation is done. @param again how often `acquire()` is repeated meanwhile
  bool wait(const std::shared_ptr<Operation>& operation, std::chrono::nanoseconds at_most,
            std::chrono::nanoseconds again = std::chrono::nanoseconds::max()) {
    const Instant until = BootClock::now() + at_most;
    Instant ask = again >= at_most ? never : BootClock::now() + again;
    for (;;) {
      const std::uint32_t seen = operation->signal();
      if (operation->done()) return true;
      const Instant now = BootClock::now();
      if (now >= until) return false;
      if (now >= ask) {
        backend_->acquire(std::static_pointer_cast<Acquisition>(operation));
        ask = now + again;
        continue;
      }
      const std::chrono::nanoseconds time = std::min(until, ask) - now;
      if (!backend_->wait(*operation, seen, time)) operation->sleep(seen, time);
    }
  }

  /// One try. @return the hold, or nothing.
  [[nodiscard]] std::optional<HoldId> try_lock(const std::string& name) {
    const auto operation = attempt(name, false);
    backend_->acquire(operation);
    return operation->done() && operation->grant().number != 0 ? std::optional(hold_of(*operation))
                                                               : std::nullopt;
  }
  /// @return the hold, or nothing when the time was up; the attempt is cancelled then.
  [[nodiscard]] std::optional<HoldId> lock(
      const std::string& name, std::chrono::nanoseconds at_most,
      std::chrono::nanoseconds again = std::chrono::nanoseconds::max()) {
    const auto operation = attempt(name, true);
    backend_->acquire(operation);
    if (!wait(operation, at_most, again)) backend_->cancel(operation);
    if (!operation->done() || operation->grant().number == 0) return std::nullopt;
    return hold_of(*operation);
  }
  /// @return what one try fails with.
  [[nodiscard]] Failure failure_of(const std::string& name) {
    const auto operation = attempt(name, false);
    backend_->acquire(operation);
    return operation->done() ? operation->failure() : Failure();
  }
  Released release(const HoldId& hold, std::shared_ptr<Acquisition> successor = nullptr) {
    const auto operation = std::make_shared<Release>(hold, std::move(successor));
    backend_->release(operation);
    return operation->outcome();
  }
  [[nodiscard]] std::optional<Holder> holder(const std::string& name) {
    const auto operation = std::make_shared<Inspection>(name);
    backend_->inspector()->inspect(operation);
    return operation->holder();
  }

 private:
  FakeHost host_;
  std::unique_ptr<Backend> backend_;
};

}  // namespace mortise::test
