// SPDX-License-Identifier: MIT
// One page of a list that is seen in no order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mortise::core {

/// The first so many names behind one. Needs memory for these only.
class FirstNames {
 public:
  /// @param behind outlives it; empty = from the first one
  FirstNames(const std::string& behind, std::size_t most) : behind_(behind), most_(most) {}

  void see(std::string_view name) {
    if (name <= behind_) return;
    const bool full = first_.size() >= most_;
    left_out_ = left_out_ || full;
    if (full && name >= first_.front()) return;
    first_.emplace_back(name);
    std::push_heap(first_.begin(), first_.end());
    if (!full) return;
    std::pop_heap(first_.begin(), first_.end());
    first_.pop_back();
  }
  void forget_all() noexcept {
    first_.clear();
    left_out_ = false;
  }
  /// @return whether none was left out.
  [[nodiscard]] bool all() const noexcept { return !left_out_; }
  /// @return them, in order.
  [[nodiscard]] std::vector<std::string> take() {
    std::sort_heap(first_.begin(), first_.end());
    return std::move(first_);
  }

 private:
  const std::string& behind_;
  const std::size_t most_;
  std::vector<std::string> first_;
  bool left_out_ = false;
};

}  // namespace mortise::core
