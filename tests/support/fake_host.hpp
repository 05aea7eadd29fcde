// SPDX-License-Identifier: MIT
// The library's side of a backend, reduced to what a backend can see of it, for tests of one
// backend alone. It has no thread: `poll()` is what the background thread would do.
#pragma once

#include <mortise/backend.hpp>

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <utility>
#include <vector>

namespace mortise::test {

/// @thread_safety as `Host`; `poll()` by one thread at a time, and not while a source is detached.
class FakeHost final : public Host {
 public:
  explicit FakeHost(std::shared_ptr<Clock> clock = Clock::real()) : clock_(std::move(clock)) {}

  [[nodiscard]] const std::shared_ptr<Clock>& clock() const noexcept override { return clock_; }
  void attach(Source& source) override {
    const std::lock_guard hold(mutex_);
    sources_.push_back(&source);
  }
  void detach(Source& source) noexcept override {
    const std::lock_guard hold(mutex_);
    std::erase(sources_, &source);
  }
  void changed(Source& /*source*/) noexcept override {}
  void hold_lost(const HoldId& hold, Failure why) override {
    const std::lock_guard guard(mutex_);
    losses_.emplace_back(hold, std::move(why));
  }

  /// @return the holds that the backend has reported as lost.
  [[nodiscard]] std::vector<std::pair<HoldId, Failure>> losses() const {
    const std::lock_guard hold(mutex_);
    return losses_;
  }
  [[nodiscard]] std::size_t sources() const {
    const std::lock_guard hold(mutex_);
    return sources_.size();
  }

  /// Waits for an event of any source and hands it over. @return false: none came in time
  bool poll(std::chrono::milliseconds at_most) {
    std::vector<Source*> sources;
    {
      const std::lock_guard hold(mutex_);
      sources = sources_;
    }
    std::vector<pollfd> polled;
    for (const Source* source : sources) {
      polled.push_back({.fd = source->descriptor(), .events = source->interest(), .revents = 0});
    }
    if (::poll(polled.data(), polled.size(), static_cast<int>(at_most.count())) <= 0) return false;
    for (std::size_t i = 0; i < sources.size(); ++i) {
      if (polled[i].revents != 0) sources[i]->ready(polled[i].revents, clock_->now());
    }
    return true;
  }

 private:
  std::shared_ptr<Clock> clock_;
  mutable std::mutex mutex_;
  std::vector<Source*> sources_;
  std::vector<std::pair<HoldId, Failure>> losses_;
};

}  // namespace mortise::test
