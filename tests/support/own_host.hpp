// SPDX-License-Identifier: MIT
// A backend's host that is polled by the thread of a test: one source after the other, where the
// next allocation can be made to fail. A program that includes it has operators of its own.
#pragma once

#include <mortise/backend.hpp>
#include <mortise/clock.hpp>

#include "support/failing_allocations.hpp"
#include "support/own_time.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace mortise::test {

/// Real time, that may be ahead.
class AheadClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const noexcept override { return BootClock::now() + ahead; }
  std::chrono::nanoseconds ahead{0};
};

class OwnHost final : public Host {
 public:
  [[nodiscard]] const std::shared_ptr<Clock>& clock() const noexcept override { return clock_; }
  void attach(Source& source) override { sources_.push_back(&source); }
  void detach(Source& source) noexcept override { std::erase(sources_, &source); }
  void changed(Source& /*source*/) noexcept override {}
  void hold_lost(const HoldId& /*hold*/, Failure /*why*/) override {}

  void step(std::chrono::nanoseconds by) { time_->ahead += by; }
  /// Polls once. @param fails_at which allocation of the sources fails; 0 = none
  /// @return whether one did
  bool poll(std::chrono::milliseconds at_most, long& fails_at) {
    const bool armed = fails_at > 0;
    const std::vector<Source*> sources = sources_;
    std::vector<pollfd> polled;
    Instant until = clock_->now() + at_most;
    for (const Source* source : sources) {
      polled.push_back({.fd = source->descriptor(), .events = source->interest(), .revents = 0});
      until = std::min(until, source->due());
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - clock_->now());
    ::poll(polled.data(), polled.size(), std::max<int>(0, static_cast<int>(left.count())));
    for (std::size_t i = 0; i < sources.size(); ++i) {
      if (polled[i].revents == 0 && sources[i]->due() > clock_->now()) continue;
      until_failure = fails_at;
      try {
        sources[i]->ready(polled[i].revents, clock_->now());
      } catch (const std::bad_alloc&) {
      }
      fails_at = std::exchange(until_failure, 0);
      if (armed && fails_at == 0) return true;
    }
    return false;
  }
  /// Polls until the allocation with that number has failed. @return false: there are not so many
  /// @param in_a_row how many fail
  [[nodiscard]] bool run_short_of_memory(int polls, long fails_at, long in_a_row = 1) {
    also_failing = in_a_row - 1;
    for (int i = 0; i < polls; ++i) {
      if (poll(std::chrono::milliseconds(5), fails_at)) return true;
    }
    return false;
  }
  /// @param within counts without the time that the machine made this program and its servers wait
  [[nodiscard]] bool run_until(const std::function<bool()>& comes_true,
                               std::chrono::nanoseconds within) {
    OwnTimeLimit limit(within, std::chrono::seconds(20));
    for (long none = 0; !comes_true();
         static_cast<void>(poll(std::chrono::milliseconds(2), none))) {
      if (limit.is_over()) return false;
    }
    return true;
  }
  [[nodiscard]] const std::vector<Source*>& sources() const { return sources_; }
  /// Waits until the servers have answered, throws the answers away, and breaks the connections.
  void lose_answers() {
    for (Source* const source : sources_) {
      const int descriptor = source->descriptor();
      if (descriptor < 0) continue;
      pollfd polled{.fd = descriptor, .events = POLLIN, .revents = 0};
      OwnTimeLimit limit(std::chrono::milliseconds(100), std::chrono::seconds(20));
      while (::poll(&polled, 1, 20) == 0 && !limit.is_over()) {
      }
      std::array<char, 4096> bytes{};
      while (::recv(descriptor, bytes.data(), bytes.size(), MSG_DONTWAIT) > 0) {
      }
      ::shutdown(descriptor, SHUT_RDWR);
    }
  }

 private:
  std::shared_ptr<AheadClock> time_ = std::make_shared<AheadClock>();
  std::shared_ptr<Clock> clock_ = time_;
  std::vector<Source*> sources_;
};

/// @return whether ours is the operator new of this program: clang's sanitizers have their own.
[[nodiscard]] inline bool allocations_fail_when_told() {
  until_failure = 1;
  try {
    const std::string copy("longer than what a string keeps without memory");
  } catch (const std::bad_alloc&) {
    return true;
  }
  until_failure = 0;
  return false;
}

}  // namespace mortise::test
