// SPDX-License-Identifier: MIT
// Reads the array that a script answers, item by item. Nothing in a reply is trusted: a reply with
// a part that is not as expected is no reply.
#pragma once

#include "base/whole_number.hpp"
#include "core/figures.hpp"
#include "redis/store/reply.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace mortise::redis {

/// The last moment of a server's clock, in microseconds. Lua counts exactly up to there.
inline constexpr long long last_moment = 9'000'000'000'000'000;

/// After an item that is not as expected, every item is empty, and `complete()` is false.
class Items {
 public:
  explicit Items(const std::vector<Reply>& items) : items_(items) {}
  [[nodiscard]] bool good() const noexcept { return good_; }
  [[nodiscard]] bool more() const noexcept { return good_ && at_ < items_.size(); }
  [[nodiscard]] bool complete() const noexcept { return good_ && at_ == items_.size(); }

  long long integer(long long least, long long most) {
    const Reply* const item = next(Reply::Kind::integer);
    if (item != nullptr && item->integer >= least && item->integer <= most) return item->integer;
    good_ = false;
    return least;
  }
  /// @return the number of a grant.
  std::uint64_t number() {
    constexpr auto limit = static_cast<long long>(core::grant_number_limit);
    return static_cast<std::uint64_t>(integer(1, limit - 1));
  }
  std::string_view text() {
    const Reply* const item = next(Reply::Kind::string);
    return item == nullptr ? std::string_view() : std::string_view(item->text);
  }
  const std::vector<Reply>* list() {
    const Reply* const item = next(Reply::Kind::array);
    return item == nullptr ? nullptr : &item->items;
  }
  [[nodiscard]] bool is_list_next() const noexcept {
    return more() && items_[at_].kind == Reply::Kind::array;
  }
  void fail() noexcept { good_ = false; }

 private:
  const Reply* next(Reply::Kind kind) {
    if (good_ && at_ < items_.size() && items_[at_].kind == kind) return &items_[at_++];
    good_ = false;
    return nullptr;
  }
  const std::vector<Reply>& items_;
  std::size_t at_ = 0;
  bool good_ = true;
};

/// @return the number of a grant in decimal digits; 0 = not one.
inline std::uint64_t number_in(std::string_view text) {
  return base::whole_number<std::uint64_t>(text, 0, core::grant_number_limit - 1).value_or(0);
}

}  // namespace mortise::redis
