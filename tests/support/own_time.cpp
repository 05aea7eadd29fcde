// SPDX-License-Identifier: MIT
// Reads /proc/self/task/*/schedstat: time on a processor, time ready to run without one, turns.
#include "support/own_time.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>

namespace mortise::test {

Waits waits_for_processors() {
  Waits waits;
  std::error_code ignored;  // a thread may end at any moment
  std::filesystem::directory_iterator task("/proc/self/task", ignored);
  for (; task != std::filesystem::directory_iterator(); task.increment(ignored)) {
    std::ifstream file(task->path() / "schedstat");
    long long ran = 0;
    long long waited = 0;
    if (!(file >> ran >> waited)) continue;
    waits[std::stoi(task->path().filename().string())] = std::chrono::nanoseconds(waited);
  }
  return waits;
}

// To read them takes a while, in which the thread may be made to wait: that would be taken off the
// call's time and be no part of it, or the other way round.
Moment this_moment() {
  constexpr int tries = 100;  // each is over long before a thread's turn is
  const pid_t self = ::gettid();
  Moment moment{.at = std::chrono::steady_clock::now(), .waits = waits_for_processors()};
  for (int i = 0; i < tries; ++i) {
    moment.at = std::chrono::steady_clock::now();
    Waits later = waits_for_processors();
    const bool same = later[self] == moment.waits[self];
    moment.waits = std::move(later);
    if (same) break;
  }
  return moment;
}

std::chrono::nanoseconds waited_between(const Waits& before, const Waits& after) {
  std::chrono::nanoseconds own{0};
  std::chrono::nanoseconds other{0};
  for (const auto& [thread, waited] : after) {
    const auto earlier = before.find(thread);
    const auto more = earlier == before.end() ? waited : waited - earlier->second;
    if (thread == ::gettid()) {
      own = more;
    } else {
      other = std::max(other, more);
    }
  }
  return own + other;
}

}  // namespace mortise::test
