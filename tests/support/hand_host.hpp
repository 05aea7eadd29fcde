// SPDX-License-Identifier: MIT
// A backend's host whose sources a test polls itself, each when it says: so a reply lies unread
// while a message is read, and the other way round. Its clock goes on by hand, too.
#pragma once

#include <mortise/backend.hpp>
#include <mortise/clock.hpp>

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace mortise::test {

/// @thread_safety none.
class HandHost final : public Host {
 public:
  using Which = std::function<bool(const Source&)>;

  [[nodiscard]] const std::shared_ptr<Clock>& clock() const noexcept override { return clock_; }
  void attach(Source& source) override {
    if (std::find(sources_.begin(), sources_.end(), &source) == sources_.end()) {
      sources_.push_back(&source);
    }
  }
  void detach(Source& source) noexcept override { std::erase(sources_, &source); }
  void changed(Source& /*source*/) noexcept override {}
  void hold_lost(const HoldId& hold, Failure why) override {
    losses_.emplace_back(hold, std::move(why));
  }

  /// That much later.
  void step(std::chrono::nanoseconds by) { time_->ahead += by; }
  [[nodiscard]] const std::vector<Source*>& sources() const noexcept { return sources_; }
  [[nodiscard]] const std::vector<std::pair<HoldId, Failure>>& losses() const noexcept {
    return losses_;
  }

  static bool all(const Source& /*source*/) { return true; }
  /// Inboxes, and what comes at a moment.
  static bool those_of_pushes(const Source& source) { return source.pushes(); }

  /// Polls once.
  void poll(const Which& which = all) {
    std::vector<Source*> polled;
    std::vector<pollfd> descriptors;
    for (Source* const source : sources_) {
      if (!which(*source)) continue;
      polled.push_back(source);
      descriptors.push_back(
          {.fd = source->descriptor(), .events = source->interest(), .revents = 0});
    }
    ::poll(descriptors.data(), descriptors.size(), 1);
    for (std::size_t i = 0; i < polled.size(); ++i) {
      const bool stays = std::find(sources_.begin(), sources_.end(), polled[i]) != sources_.end();
      if (!stays) continue;
      if (descriptors[i].revents == 0 && polled[i]->due() > clock_->now()) continue;
      polled[i]->ready(descriptors[i].revents, clock_->now());
    }
  }
  /// @return whether that comes true while those are polled
  [[nodiscard]] bool run_until(const std::function<bool()>& comes_true, const Which& which = all,
                               std::chrono::nanoseconds at_most = std::chrono::seconds(10)) {
    const Instant end = BootClock::now() + at_most;
    while (!comes_true()) {
      if (BootClock::now() > end) return false;
      poll(which);
    }
    return true;
  }

 private:
  class AheadClock final : public Clock {
   public:
    [[nodiscard]] Instant now() const noexcept override { return BootClock::now() + ahead; }
    std::chrono::nanoseconds ahead{0};
  };

  std::shared_ptr<AheadClock> time_ = std::make_shared<AheadClock>();
  std::shared_ptr<Clock> clock_ = time_;
  std::vector<Source*> sources_;
  std::vector<std::pair<HoldId, Failure>> losses_;
};

}  // namespace mortise::test
