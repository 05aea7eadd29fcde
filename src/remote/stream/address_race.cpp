// SPDX-License-Identifier: MIT
// The order of the questions in `step()` is the rule: what is over goes first, then what is new,
// and an address that refused comes last.
#include "remote/stream/address_race.hpp"

#include "remote/connect_limit.hpp"

#include <algorithm>
#include <numeric>

namespace mortise::remote {

void AddressRace::start(std::size_t addresses) {
  running_.clear();
  refused_.clear();
  running_.reserve(addresses);
  refused_.reserve(addresses);
  untried_.resize(addresses);
  std::iota(untried_.begin(), untried_.end(), std::size_t{0});
  next_ = Instant{};
}

AddressRace::Step AddressRace::step(Instant now) {
  const auto late = std::find_if(running_.begin(), running_.end(),
                                 [&](const Running& each) { return each.limit <= now; });
  if (late != running_.end()) {
    const std::size_t address = late->address;
    running_.erase(late);
    return {Act::late, address};
  }
  if (!untried_.empty() && (running_.empty() || next_ <= now)) {
    const std::size_t address = untried_.front();
    untried_.erase(untried_.begin());
    next_ = now + head_start;
    return open(address, now);
  }
  if (running_.empty()) return {Act::lost};
  if (!refused_.empty() && refused_.front().again <= now) {
    const std::size_t address = refused_.front().address;
    refused_.erase(refused_.begin());
    return open(address, now);
  }
  return {Act::wait};
}

AddressRace::Step AddressRace::open(std::size_t address, Instant now) {
  running_.push_back({address, now, connect_limit(now, now, step_)});
  return {Act::open, address};
}

AddressRace::Running* AddressRace::find(std::size_t address) noexcept {
  const auto found = std::find_if(running_.begin(), running_.end(),
                                  [&](const Running& each) { return each.address == address; });
  return found == running_.end() ? nullptr : &*found;
}

Instant AddressRace::remove(std::size_t address) {
  const Running* const found = find(address);
  if (found == nullptr) return Instant{};
  const Instant since = found->since;
  running_.erase(running_.begin() + (found - running_.data()));
  return since;
}

void AddressRace::came_closer(std::size_t address, Instant now) noexcept {
  Running* const running = find(address);
  if (running != nullptr) running->limit = connect_limit(running->since, now, step_);
}

void AddressRace::refused(std::size_t address, Instant now) {
  remove(address);
  refused_.push_back({address, now + head_start});
  next_ = now;  // the next one need not wait for one that is gone
}

Instant AddressRace::connected(std::size_t address) {
  const Instant since = remove(address);
  for (const Running& each : running_) untried_.push_back(each.address);
  for (const Refused& each : refused_) untried_.push_back(each.address);
  running_.clear();
  refused_.clear();
  return since;
}

Instant AddressRace::due() const noexcept {
  Instant due = never;
  for (const Running& each : running_) due = std::min(due, each.limit);
  if (!untried_.empty()) due = std::min(due, next_);
  if (!refused_.empty()) due = std::min(due, refused_.front().again);
  return due;
}

}  // namespace mortise::remote
