// SPDX-License-Identifier: MIT
// Two addresses that lead to one server would have it vote twice, and two clients could each have a
// majority. Who a server is, its run id tells; where an address leads, only its newest connection.
#include "redlock/whereabouts.hpp"

#include "base/mutant.hpp"

#include <algorithm>

namespace mortise::redlock {

void Whereabouts::arrived(std::size_t address, const std::string& run_id, Instant now) {
  const std::lock_guard lock(mutex_);
  if (base::mutant("redlock.one_server_votes_twice")) return;
  places_[address] = {.run_id = run_id, .since = now};
  doubts_ &= ~only(address);
  note_clear();
}

bool Whereabouts::left(std::size_t address, bool was_up) {
  const std::lock_guard lock(mutex_);
  // The connection that was in doubt is gone; where its address leads the next one tells. Until
  // then it is taken to lead where it did.
  if (was_up && (doubts_ & only(address)) != 0) return false;
  const bool before = clear_.load();
  places_[address] = {};
  doubts_ &= ~only(address);
  note_clear();
  return clear_.load() && !before;
}

NodeSet Whereabouts::doubt(Instant now) {
  if (base::mutant("redlock.twin_keeps_its_connection")) return 0;
  const std::lock_guard lock(mutex_);
  NodeSet old = 0;
  for (const auto& [one, other] : all_twins()) {
    if (is_old(one, now)) old |= only(one);
    if (is_old(other, now)) old |= only(other);
  }
  old &= ~doubts_;
  doubts_ |= old;
  return old;
}

void Whereabouts::distrust(NodeSet addresses) {
  const std::lock_guard lock(mutex_);
  doubts_ |= addresses;
  note_clear();
}

bool Whereabouts::in_doubt(std::size_t address) const {
  const std::lock_guard lock(mutex_);
  return (doubts_ & only(address)) != 0;
}

bool Whereabouts::astray(std::size_t address) const {
  if (clear()) return false;
  const std::lock_guard lock(mutex_);
  const std::vector<Twins> all = all_twins();
  return std::any_of(all.begin(), all.end(), [address](const Twins& two) {
    return two.first == address || two.second == address;
  });
}

std::optional<Whereabouts::Twins> Whereabouts::twins(Instant now) const {
  const std::lock_guard lock(mutex_);
  for (const Twins& two : all_twins()) {
    const bool in_doubt = (doubts_ & (only(two.first) | only(two.second))) != 0;
    const bool news = !in_doubt && !is_old(two.first, now) && !is_old(two.second, now);
    if (news || base::mutant("redlock.stale_verdict")) return two;
  }
  return std::nullopt;
}

std::vector<Whereabouts::Twins> Whereabouts::all_twins() const {
  std::vector<Twins> all;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    for (std::size_t j = i + 1; j < places_.size(); ++j) {
      if (!places_[i].run_id.empty() && places_[i].run_id == places_[j].run_id) {
        all.emplace_back(i, j);
      }
    }
  }
  return all;
}

bool Whereabouts::is_old(std::size_t address, Instant now) const {
  return now - places_[address].since > news_for;
}

void Whereabouts::note_clear() { clear_.store(doubts_ == 0 && all_twins().empty()); }

}  // namespace mortise::redlock
