// SPDX-License-Identifier: MIT
// A session lives as long as the server says so, counted from before it was asked.
#include "zookeeper/life.hpp"

#include "base/mutant.hpp"

#include <algorithm>

namespace mortise::zookeeper {
namespace {

// More than a report's time of signs are kept, at a distance that is worth it.
constexpr int signs_in_a_report = 4;
constexpr std::size_t most_signs = 16;

}  // namespace

void Life::connected(Instant asked) {
  signs_.clear();
  known_ = std::max(known_, asked);
}

void Life::disconnected() noexcept { signs_.clear(); }

void Life::over() noexcept {
  signs_.clear();
  known_ = proven_ = Instant{};
}

void Life::answered(Instant asked, Instant now) {
  if (base::mutant("zookeeper.read_renews")) proven_ = std::max(proven_, asked);
  if (!signs_.empty() && now - signs_.back().answered < report_ / signs_in_a_report) return;
  if (signs_.size() == most_signs) signs_.pop_front();
  signs_.push_back({.asked = asked, .answered = now});
}

void Life::passed(Instant asked) noexcept {
  if (base::mutant("zookeeper.sync_renews")) proven_ = std::max(proven_, asked);
  const Instant reported = asked - report_;
  while (!signs_.empty() && signs_.front().answered <= reported) {
    known_ = std::max(known_, signs_.front().asked);
    signs_.pop_front();
  }
}

void Life::committed(Instant known, Instant asked, Instant now) noexcept {
  if (base::mutant("zookeeper.commit_is_sign_of_life")) known = asked;
  if (base::mutant("zookeeper.deadline_from_reply")) known = now;
  proven_ = std::max(proven_, known);
}

}  // namespace mortise::zookeeper
