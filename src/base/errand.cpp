// SPDX-License-Identifier: MIT
#include "base/errand.hpp"

#include <poll.h>

#include <algorithm>

namespace mortise::base {

void Errand::run(const Operation& operation, std::chrono::milliseconds at_most) {
  const Instant end = clock_->now() + at_most;
  while (!operation.done()) {
    Instant until = end;
    std::vector<pollfd> polled;
    const std::vector<Source*> sources = sources_;
    for (const Source* source : sources) {
      until = std::min(until, source->due());
      polled.push_back({source->descriptor(), source->interest(), 0});
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(
        std::max(until - clock_->now(), std::chrono::nanoseconds(0)));
    ::poll(polled.data(), polled.size(), static_cast<int>(left.count()));
    const Instant now = clock_->now();
    for (std::size_t i = 0; i < sources.size(); ++i) {
      if (polled[i].revents != 0 || sources[i]->due() <= now) {
        sources[i]->ready(polled[i].revents, now);
      }
    }
    if (now >= end) return;
  }
}

}  // namespace mortise::base
