// SPDX-License-Identifier: MIT
// A sorted set: members by score, and those of one score by their bytes.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace simulation::redis {

class SortedSetValue {
 public:
  using Item = std::pair<double, std::string>;

  [[nodiscard]] std::optional<double> score(std::string_view member) const {
    const auto found = scores_.find(member);
    return found == scores_.end() ? std::nullopt : std::optional(found->second);
  }
  /// @return whether the member is new
  bool set(std::string_view member, double score) {
    const bool is_new = !erase(member);
    scores_.emplace(member, score);
    order_.emplace(score, member);
    return is_new;
  }
  /// @return whether there was such a member
  bool erase(std::string_view member) {
    const auto found = scores_.find(member);
    if (found == scores_.end()) return false;
    order_.erase({found->second, found->first});
    scores_.erase(found);
    return true;
  }
  [[nodiscard]] std::size_t size() const noexcept { return scores_.size(); }
  /// @return all of them, in order.
  [[nodiscard]] const std::set<Item>& items() const noexcept { return order_; }
  /// @return the bytes of all members and scores
  [[nodiscard]] std::size_t bytes() const noexcept {
    std::size_t sum = 0;
    for (const auto& [member, score] : scores_) sum += member.size() + sizeof(score);
    return sum;
  }

 private:
  std::map<std::string, double, std::less<>> scores_;
  std::set<Item> order_;
};

}  // namespace simulation::redis
