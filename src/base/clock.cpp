// SPDX-License-Identifier: MIT
// The real clock and the one that tests move by hand.
#include <mortise/clock.hpp>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <map>
#include <mutex>
#include <vector>

namespace mortise {

BootClock::time_point BootClock::now() noexcept {
  timespec t{};
  ::clock_gettime(CLOCK_BOOTTIME, &t);
  return time_point(std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec));
}

Clock::~Clock() = default;

std::shared_ptr<void> Clock::on_step(std::function<void()> /*wake*/) { return {}; }

namespace {

class RealClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const noexcept override { return BootClock::now(); }
};

}  // namespace

// Never destroyed, and made when the library is loaded: see error_category().
std::shared_ptr<Clock> Clock::real() {
  static const auto& clock = *new std::shared_ptr<Clock>(std::make_shared<RealClock>());
  return clock;
}
namespace {
[[maybe_unused]] const bool made = Clock::real() != nullptr;
}  // namespace

struct ManualClock::State {
  // Read without the mutex: by a thread too that stands still there for a test's sake.
  std::atomic<Instant::rep> now{Instant::duration(std::chrono::hours(1)).count()};
  std::mutex mutex;
  std::map<std::uint64_t, std::shared_ptr<std::function<void()>>> wakers;
  std::uint64_t next = 0;
};

ManualClock::ManualClock() : state_(std::make_shared<State>()) {}
ManualClock::~ManualClock() = default;

Instant ManualClock::now() const noexcept { return Instant(Instant::duration(state_->now.load())); }

std::shared_ptr<void> ManualClock::on_step(std::function<void()> wake) {
  const std::lock_guard hold(state_->mutex);
  const std::uint64_t key = state_->next++;
  state_->wakers.emplace(key, std::make_shared<std::function<void()>>(std::move(wake)));
  return {nullptr, [state = state_, key](void*) {
            const std::lock_guard erase(state->mutex);
            state->wakers.erase(key);
          }};
}

void ManualClock::advance(std::chrono::nanoseconds step) {
  std::vector<std::shared_ptr<std::function<void()>>> wakers;
  {
    const std::lock_guard hold(state_->mutex);
    state_->now.fetch_add(std::max<Instant::duration>(step, Instant::duration::zero()).count());
    for (const auto& [key, wake] : state_->wakers) wakers.push_back(wake);
  }
  // Outside the mutex: a waker reads the clock.
  for (const auto& wake : wakers) (*wake)();
}

}  // namespace mortise
