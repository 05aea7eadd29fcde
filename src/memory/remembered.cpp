// SPDX-License-Identifier: MIT
// A record is replaced, never changed: replies that are under way share it.
#include "memory/remembered.hpp"

#include <algorithm>

namespace mortise::memory {
namespace {

// Each request brings one key at most; so what is over is gone after a quarter as many requests.
constexpr std::size_t buckets_in_a_look = 4;

Instant end_of(Instant now, const Memory& memory) { return now + memory.keep; }

}  // namespace

std::shared_ptr<const Record> Remembered::find(const std::string& key) const {
  const auto found = kept_.find(key);
  return found == kept_.end() ? nullptr : found->second.record;
}

std::uint64_t Remembered::begin(const Acquisition::Request& request, std::uint64_t number,
                                Instant now) {
  const std::shared_ptr<const Record> last = find(request.name);
  const std::uint64_t run = (last ? last->run : 0) + 1;
  kept_[request.name] = {
      .record = std::make_shared<const Record>(Record{.state = KeyState::pending,
                                                      .run = run,
                                                      .number = number,
                                                      .fingerprint = request.memory->fingerprint}),
      .runner = request.attempt,
      .until = end_of(now, *request.memory)};
  return run;
}

void Remembered::conclude(const HoldId& hold, const Conclusion& conclusion, Instant now) {
  kept_[hold.name] = {.record = std::make_shared<const Record>(
                          Record{.state = conclusion.state,
                                 .bytes = conclusion.bytes,
                                 .run = conclusion.run,
                                 .number = hold.number,
                                 .fingerprint = conclusion.memory->fingerprint}),
                      .runner = hold.attempt,
                      .until = end_of(now, *conclusion.memory)};
}

bool Remembered::concluded_by(const HoldId& hold) const {
  const auto found = kept_.find(hold.name);
  if (found == kept_.end()) return false;
  const Kept& kept = found->second;
  return kept.record->state != KeyState::pending && kept.runner == hold.attempt &&
         kept.record->number == hold.number;
}

void Remembered::expire(const std::string& key, Instant now) {
  const auto found = kept_.find(key);
  if (found != kept_.end() && now >= found->second.until) kept_.erase(found);
}

std::vector<std::string> Remembered::some_that_are_over(Instant now) {
  std::vector<std::string> over;
  const std::size_t buckets = kept_.bucket_count();
  for (std::size_t i = 0; i < std::min(buckets, buckets_in_a_look); ++i) {
    looked_at_ = looked_at_ + 1 < buckets ? looked_at_ + 1 : 0;
    for (auto each = kept_.begin(looked_at_); each != kept_.end(looked_at_); ++each) {
      if (now >= each->second.until) over.push_back(each->first);
    }
  }
  return over;
}

}  // namespace mortise::memory
