// SPDX-License-Identifier: MIT
// What administrators ask of the server. A look changes nothing, not even what is over by now.
#include "core/figures.hpp"
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

/// The first so many names behind one, in order.
class FirstNames {
 public:
  FirstNames(const std::string& prefix, const std::string& behind, std::size_t most)
      : prefix_(prefix), behind_(behind), most_(most) {}

  void forget_all() noexcept { first_.clear(); }
  /// One more than asked for shows that there are more.
  void see(const std::string& name) {
    if (!name.starts_with(prefix_) || name <= behind_) return;
    if (first_.size() > most_ && name >= first_.front()) return;
    first_.push_back(name);
    std::push_heap(first_.begin(), first_.end());
    if (first_.size() <= most_ + 1) return;
    std::pop_heap(first_.begin(), first_.end());
    first_.pop_back();
  }
  NamePage take() {
    std::sort_heap(first_.begin(), first_.end());
    NamePage page{.names = std::move(first_)};
    if (page.names.size() > most_) {
      page.names.pop_back();
      page.cursor = page.names.back();
    }
    return page;
  }

 private:
  const std::string& prefix_;
  const std::string& behind_;
  const std::size_t most_;
  std::vector<std::string> first_;
};

}  // namespace

NamePage Store::list(const Listing& asked) {
  FirstNames first(asked.prefix(), asked.cursor(), asked.limit());
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
      if (held) first.see(each->first);
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
  return first.take();
}

NameQueue Store::queue(const QueueLook& asked) {
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
                             .token = Token(held.grant.number * core::tokens_in_a_grant),
                             .age = milliseconds(now - held.grant.granted_at),
                             .expires_in = milliseconds(held.expires - now)});
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

std::optional<Holder> Store::force_release(const ForcedRelease& asked) {
  Pushes pushes;
  std::optional<Holder> ended;
  {
    const std::lock_guard lock(mutex_);
    ++requests_;
    const Instant now = clock_->now();
    Name& entry = settled(asked.name(), asked.mode(), now, pushes);
    const auto meant = [&](const Held& held) {
      return asked.means(Token(held.grant.number * core::tokens_in_a_grant));
    };
    Name gone{.held = std::nullopt, .permits = entry.permits};
    if (entry.held && meant(*entry.held)) gone.held = std::exchange(entry.held, std::nullopt);
    for (const Held& one : entry.sharing) {
      if (meant(one)) gone.sharing.push_front(one);
    }
    std::erase_if(entry.sharing, meant);
    gone.sharing.reverse();
    ended = holder_of(gone, now);
    if (ended) {
      ended->waiters = entry.queue.size();
      hand_over(entry, asked.name(), asked.mode(), now, pushes);
    }
    erase_if_idle(asked.name(), asked.mode());
  }
  deliver(pushes);
  return ended;
}

}  // namespace mortise::memory
