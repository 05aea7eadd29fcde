// SPDX-License-Identifier: MIT
// Epochs decide between sentinels, as they do among themselves: sentinel.c,
// sentinelProcessHelloMessage(), takes the address of whoever has the greater one.
#include "redis/sentinels.hpp"

#include <algorithm>
#include <numeric>

namespace mortise::redis {
namespace {

bool same(const base::Address& one, const base::Address& other) {
  return one.host == other.host && one.port == other.port;
}

}  // namespace

Sentinels::Sentinels(std::size_t count) : order_(count) {
  std::iota(order_.begin(), order_.end(), std::size_t{0});
}

std::vector<std::size_t> Sentinels::order() const {
  const std::lock_guard lock(mutex_);
  return order_;
}

bool Sentinels::believes(std::size_t sentinel, const SentinelAnswer& answer) {
  const std::lock_guard lock(mutex_);
  if (answer.epoch < epoch_) return false;
  believe_locked(sentinel, answer);
  return true;
}

void Sentinels::settle_for(std::size_t sentinel, const SentinelAnswer& answer) {
  const std::lock_guard lock(mutex_);
  believe_locked(sentinel, answer);
}

void Sentinels::misled() {
  const std::lock_guard lock(mutex_);
  std::rotate(order_.begin(), order_.begin() + 1, order_.end());
}

std::size_t Sentinels::next_in_turn() {
  const std::lock_guard lock(mutex_);
  turn_ = (turn_ + 1) % order_.size();
  return turn_;
}

bool Sentinels::names_another(std::size_t sentinel, const SentinelAnswer& answer) {
  const std::lock_guard lock(mutex_);
  if (master_.host.empty()) return false;  // the first search is still under way
  if (same(answer.master, master_)) {
    in_a_row_ = 0;
    epoch_ = std::max(epoch_, answer.epoch);
    return false;
  }
  ++in_a_row_;
  if (answer.epoch <= epoch_ && in_a_row_ < order_.size()) return false;
  believe_locked(sentinel, answer);
  return true;
}

void Sentinels::believe_locked(std::size_t sentinel, const SentinelAnswer& answer) {
  master_ = answer.master;
  epoch_ = answer.epoch;
  in_a_row_ = 0;
  const auto place = std::find(order_.begin(), order_.end(), sentinel);
  std::rotate(order_.begin(), place, place + 1);
}

}  // namespace mortise::redis
