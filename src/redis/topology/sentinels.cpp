// SPDX-License-Identifier: MIT
// Epochs decide between sentinels, as they do among themselves: sentinel.c,
// sentinelProcessHelloMessage(), takes the address of whoever has the greater one.
#include "redis/topology/sentinels.hpp"

#include "base/mutant.hpp"

#include <algorithm>
#include <numeric>

namespace mortise::redis {
namespace {

bool same(const base::Address& one, const base::Address& other) {
  return one.host == other.host && one.port == other.port;
}

}  // namespace

Sentinels::Sentinels(std::size_t count) : order_(count), named_(count) {
  std::iota(order_.begin(), order_.end(), std::size_t{0});
}

std::vector<std::size_t> Sentinels::order() const {
  const std::lock_guard lock(mutex_);
  return order_;
}

bool Sentinels::believes(std::size_t sentinel, const SentinelAnswer& answer) {
  const std::lock_guard lock(mutex_);
  if (answer.epoch < epoch_ && !base::mutant("redis.older_epoch_is_believed")) return false;
  believe_locked(sentinel, answer);
  return true;
}

void Sentinels::settle_for(std::size_t sentinel, const SentinelAnswer& answer) {
  const std::lock_guard lock(mutex_);
  believe_locked(sentinel, answer);
}

SentinelAnswer Sentinels::known() const {
  const std::lock_guard lock(mutex_);
  return {.master = master_, .epoch = epoch_, .failure = {}};
}

void Sentinels::misled() {
  const std::lock_guard lock(mutex_);
  std::rotate(order_.begin(), order_.begin() + 1, order_.end());
}

std::size_t Sentinels::next_in_turn() {
  const std::lock_guard lock(mutex_);
  if (!base::mutant("redis.one_sentinel_is_asked")) turn_ = (turn_ + 1) % order_.size();
  return turn_;
}

bool Sentinels::names_another(std::size_t sentinel, const SentinelAnswer& answer) {
  const std::lock_guard lock(mutex_);
  if (master_.host.empty()) return false;  // the first search is still under way
  if (same(answer.master, master_)) {
    named_.assign(named_.size(), {});
    epoch_ = std::max(epoch_, answer.epoch);
    return false;
  }
  // Each of them, and not one of them so often: the only one that is reached may be the one that is
  // cut off from the others.
  named_[sentinel] = answer.master;
  const bool all = std::all_of(named_.begin(), named_.end(),
                               [&](const base::Address& it) { return same(it, answer.master); });
  if (answer.epoch <= epoch_ && !all) return false;
  believe_locked(sentinel, answer);
  return true;
}

void Sentinels::believe_locked(std::size_t sentinel, const SentinelAnswer& answer) {
  master_ = answer.master;
  epoch_ = answer.epoch;
  named_.assign(named_.size(), {});
  const auto place = std::find(order_.begin(), order_.end(), sentinel);
  std::rotate(order_.begin(), place, place + 1);
}

}  // namespace mortise::redis
