// SPDX-License-Identifier: MIT
// A list passes over the buckets of the table, and lets other clients in between.
#include "memory/name_table.hpp"

#include "core/first_names.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <thread>

namespace mortise::memory {
namespace {

// Names stay in their buckets as long as there are as many buckets, so a pass need not have the
// mutex all the time: other clients wait for this many at most. And the pass has to stay away for a
// moment, or it would have the mutex again before any thread that waits for it is awake.
constexpr std::size_t buckets_at_a_time = 1'024;
constexpr std::chrono::microseconds turn_of_others{1};
// The table doubles; so a pass that was interrupted this often does the rest at once.
constexpr int interruptions = 3;

std::chrono::milliseconds milliseconds(std::chrono::nanoseconds time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time);
}

bool is_held_at(const Name& name, Instant now) {
  const auto stands = [now](const Name::Held& held) { return now < held.expires; };
  return (name.held && stands(*name.held)) ||
         std::any_of(name.sharing.begin(), name.sharing.end(), stands);
}

}  // namespace

Name* NameTable::find(const std::string& name) noexcept {
  const auto found = names_.find(name);
  return found == names_.end() ? nullptr : &found->second;
}

const Name* NameTable::find(const std::string& name) const noexcept {
  const auto found = names_.find(name);
  return found == names_.end() ? nullptr : &found->second;
}

void NameTable::erase_if_idle(const std::string& name) {
  const auto found = names_.find(name);
  if (found != names_.end() && found->second.is_idle()) names_.erase(found);
}

std::size_t NameTable::waiters() const noexcept {
  std::size_t sum = 0;
  for (const auto& [text, name] : names_) sum += name.queue.size();
  return sum;
}

NamePage NameTable::list(const Listing& asked, const Clock& clock,
                         std::unique_lock<std::mutex>& lock) const {
  core::FirstNames first(asked.cursor(), asked.limit());
  std::size_t buckets = names_.bucket_count();
  int interrupted = 0;
  for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
    for (auto each = names_.begin(bucket); each != names_.end(bucket); ++each) {
      if (each->first.starts_with(asked.prefix()) && is_held_at(each->second, clock.now())) {
        first.see(each->first);
      }
    }
    if ((bucket + 1) % buckets_at_a_time != 0 || interrupted >= interruptions) continue;
    lock.unlock();
    std::this_thread::sleep_for(turn_of_others);
    lock.lock();
    if (names_.bucket_count() == buckets) continue;
    buckets = names_.bucket_count();
    first.forget_all();
    bucket = std::size_t{0} - 1;  // from the beginning
    ++interrupted;
  }
  NamePage page{.names = first.take()};
  if (!first.all()) page.cursor = page.names.back();
  return page;
}

NameQueue NameTable::queue(const QueueLook& asked, Instant now,
                           std::vector<HoldMark>& marks) const {
  NameQueue queue{.waiters_in_all = 0};
  const Name* const name = find(asked.name());
  if (name == nullptr) return queue;
  const auto add = [&](const Name::Held& held, Mode mode) {
    if (now >= held.expires || queue.holders.size() >= asked.limit()) return;
    queue.holders.push_back({.label = held.label,
                             .mode = mode,
                             .token = token_of(held.grant.number),
                             .age = milliseconds(now - held.grant.granted_at),
                             .expires_in = milliseconds(held.expires - now)});
    marks.push_back({.attempt = held.grant.attempt});
  };
  if (name->held) add(*name->held, Mode::exclusive);
  for (const Name::Held& each : name->sharing) add(each, Mode::shared);
  queue.waiters_in_all = name->queue.size();
  for (const Name::Waiter& each : name->queue) {
    if (queue.waiters.size() >= asked.limit()) break;
    queue.waiters.push_back({.label = each.request.label,
                             .mode = each.request.mode,
                             .age = milliseconds(now - each.since),
                             .silent_for = milliseconds(now - each.last_contact)});
  }
  return queue;
}

}  // namespace mortise::memory
