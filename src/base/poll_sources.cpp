// SPDX-License-Identifier: MIT
// One poll of a handful of sources, for those who have no engine.
#include "base/poll_sources.hpp"

#include "base/inside_source.hpp"
#include "base/span.hpp"
#include "base/tuned_source.hpp"

#include <poll.h>

#include <algorithm>
#include <thread>

namespace mortise::base {

void poll_sources(const std::vector<Source*>& sources, const Clock& clock, Instant until) {
  std::vector<pollfd> polled;
  polled.reserve(sources.size());
  // NOLINTNEXTLINE(performance-unnecessary-copy-initialization): ready() may attach and detach some
  const std::vector<Source*> all = sources;
  for (const Source* source : all) {
    until = std::min(until, source->due());
    polled.push_back({source->descriptor(), source->interest(), 0});
  }
  ::poll(polled.data(), polled.size(), poll_time(until - clock.now()));
  const Instant now = clock.now();
  const InsideSource inside;
  bool any = false;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (polled[i].revents == 0 && all[i]->due() > now) continue;
    any = true;
    all[i]->ready(polled[i].revents, now);
  }
  // What it made them say nobody else sends: those who were answered do not run on.
  for (Source* source : all) {
    auto* const tuned = dynamic_cast<TunedSource*>(source);
    if (tuned != nullptr && tuned->gathering()) tuned->send_gathered();
  }
  // As long as another thread reads one of them that one does nothing, and is ready. That thread
  // may have been stopped, and wait for this processor.
  if (any) std::this_thread::yield();
}

}  // namespace mortise::base
