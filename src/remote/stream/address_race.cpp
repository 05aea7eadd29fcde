// SPDX-License-Identifier: MIT
// The order of the questions in `step()` is the rule: what is over goes first, then what is new,
// and an address that refused comes last.
#include "remote/stream/address_race.hpp"

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
                                 [&](const Timed& each) { return each.at + each_ <= now; });
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
  if (!refused_.empty() && refused_.front().at <= now) {
    const std::size_t address = refused_.front().address;
    refused_.erase(refused_.begin());
    return open(address, now);
  }
  return {Act::wait};
}

AddressRace::Step AddressRace::open(std::size_t address, Instant now) {
  running_.push_back({address, now});
  return {Act::open, address};
}

Instant AddressRace::remove(std::size_t address) {
  const auto found = std::find_if(running_.begin(), running_.end(),
                                  [&](const Timed& each) { return each.address == address; });
  if (found == running_.end()) return Instant{};
  const Instant since = found->at;
  running_.erase(found);
  return since;
}

void AddressRace::refused(std::size_t address, Instant now) {
  remove(address);
  refused_.push_back({address, now + head_start});
  next_ = now;  // the next one need not wait for one that is gone
}

Instant AddressRace::connected(std::size_t address) {
  const Instant since = remove(address);
  for (const Timed& each : running_) untried_.push_back(each.address);
  for (const Timed& each : refused_) untried_.push_back(each.address);
  running_.clear();
  refused_.clear();
  return since;
}

Instant AddressRace::due() const noexcept {
  Instant due = never;
  for (const Timed& each : running_) due = std::min(due, each.at + each_);
  if (!untried_.empty()) due = std::min(due, next_);
  if (!refused_.empty()) due = std::min(due, refused_.front().at);
  return due;
}

}  // namespace mortise::remote
