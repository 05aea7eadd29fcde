// SPDX-License-Identifier: MIT
// What administrators ask of the server. A look changes nothing, not even what is over by now.
#include "core/first_names.hpp"
#include "memory/store.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <thread>
#include <utility>

namespace mortise::memory {
namespace {

// Names stay in their buckets as long as there are as many of these, so a pass need not have the
// mutex all the time: others wait for so many at most. And it has to stay away for a moment, or it
// would have the mutex again before any of those who wait is awake.
constexpr std::size_t buckets_at_a_time = 1'024;
constexpr std::chrono::microseconds turn_of_others{1};
// The table doubles; so a pass that it has interrupted so often does the rest at once.
constexpr int interruptions = 3;

std::chrono::milliseconds milliseconds(std::chrono::nanoseconds time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time);
}

}  // namespace

NamePage Store::list(const Listing& asked) {
  core::FirstNames first(asked.cursor(), asked.limit());
  std::unique_lock lock(mutex_);
  ++requests_;
  const Names& all = names(asked.mode());
  std::size_t buckets = all.bucket_count();
  int interrupted = 0;
  for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
    for (auto each = all.begin(bucket); each != all.end(bucket); ++each) {
      const Name& entry = each->second;
      const auto stands = [&](const Held& held) { return clock_->now() < held.expires; };
      const bool held = (entry.held && stands(*entry.held)) ||
                        std::any_of(entry.sharing.begin(), entry.sharing.end(), stands);
      if (held && each->first.starts_with(asked.prefix())) first.see(each->first);
    }
    if ((bucket + 1) % buckets_at_a_time != 0 || interrupted >= interruptions) continue;
    lock.unlock();
    std::this_thread::sleep_for(turn_of_others);
    lock.lock();
    if (all.bucket_count() == buckets) continue;
    buckets = all.bucket_count();
    first.forget_all();
    bucket = std::size_t{0} - 1;  // from the beginning
    ++interrupted;
  }
  NamePage page{.names = first.take()};
  if (!first.all()) page.cursor = page.names.back();
  return page;
}

NameQueue Store::queue(const QueueLook& asked, std::vector<HoldMark>& marks) {
  const std::lock_guard lock(mutex_);
  ++requests_;
  NameQueue queue{.waiters_in_all = 0};
  const auto found = names(asked.mode()).find(asked.name());
  if (found == names(asked.mode()).end()) return queue;
  const Name& entry = found->second;
  const Instant now = clock_->now();
  const auto tell = [&](const Held& held, Mode mode) {
    if (now >= held.expires || queue.holders.size() >= asked.limit()) return;
    queue.holders.push_back({.label = held.label,
                             .mode = mode,
                             .token = token_of(held.grant.number),
                             .age = milliseconds(now - held.grant.granted_at),
                             .expires_in = milliseconds(held.expires - now)});
    marks.push_back({.attempt = held.grant.attempt});
  };
  if (entry.held) tell(*entry.held, Mode::exclusive);
  for (const Held& one : entry.sharing) tell(one, Mode::shared);
  queue.waiters_in_all = entry.queue.size();
  for (const Queued& each : entry.queue) {
    if (queue.waiters.size() >= asked.limit()) break;
    queue.waiters.push_back({.label = each.label,
                             .mode = each.mode,
                             .age = milliseconds(now - each.since),
                             .silent_for = milliseconds(now - each.last_contact)});
  }
  return queue;
}

}  // namespace mortise::memory
