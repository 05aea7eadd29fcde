// SPDX-License-Identifier: MIT
#include "postgres/listing.hpp"

#include "core/figures.hpp"
#include "postgres/answer.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace mortise::postgres {
namespace {

constexpr char last_byte = '\xff';

std::optional<std::vector<std::string>> names_in(std::string_view bytes) {
  constexpr std::size_t length = sizeof(std::int32_t);
  std::vector<std::string> names;
  while (!bytes.empty()) {
    const auto size = static_cast<std::size_t>(integer_of(bytes.substr(0, length)));
    if (bytes.size() < length || size > bytes.size() - length || names.size() == longest_page) {
      return std::nullopt;
    }
    if (size >= 1 && size <= core::longest_name) names.emplace_back(bytes.substr(length, size));
    bytes.remove_prefix(length + size);
  }
  return names;
}

std::chrono::milliseconds milliseconds(std::int64_t microseconds) {
  return std::chrono::milliseconds(microseconds / 1000);
}

/// Reads the bytes of the server one after the other. Behind the end it reads zeros, and the result
/// is invalid.
class Words {
 public:
  explicit Words(std::string_view bytes) : left_(bytes) {}
  [[nodiscard]] bool any() const noexcept { return !left_.empty(); }
  [[nodiscard]] bool good() const noexcept { return good_; }

  std::string_view bytes(std::size_t length) {
    if (length > left_.size()) {
      good_ = false;
      length = left_.size();
    }
    const std::string_view taken = left_.substr(0, length);
    left_.remove_prefix(length);
    return taken;
  }
  std::int64_t number(std::size_t length = sizeof(std::int64_t)) {
    const std::string_view digits = bytes(length);
    return good_ ? integer_of(digits) : 0;
  }
  Mode mode() {
    const std::string_view letter = bytes(1);
    if (letter == "S") return Mode::shared;
    good_ = good_ && letter == "E";
    return Mode::exclusive;
  }

 private:
  std::string_view left_;
  bool good_ = true;
};

HolderEntry holder_entry(Words& words, std::int64_t clock) {
  HolderEntry entry;
  const std::int64_t number = words.number();
  entry.token = token_of(number);
  entry.expires_in =
      std::chrono::duration_cast<std::chrono::milliseconds>(lease_between(clock, words.number()));
  const std::int64_t age = words.number();
  if (age >= 0) entry.age = milliseconds(age);
  entry.mode = words.mode();
  const std::int64_t length = words.number(sizeof(std::int32_t));
  entry.label = words.bytes(static_cast<std::size_t>(length)).substr(0, core::longest_label);
  return entry;
}

WaiterEntry waiter_entry(Words& words) {
  WaiterEntry entry;
  entry.mode = words.mode();
  entry.silent_for = milliseconds(std::max<std::int64_t>(words.number(), 0));
  return entry;
}

}  // namespace

std::string name_behind(const Listing& listing) {
  std::string prefix = listing.prefix();
  while (prefix.ends_with(last_byte)) prefix.pop_back();
  // NOLINTNEXTLINE(modernize-return-braced-init-list): that would be two characters
  if (prefix.empty()) return std::string(core::longest_name + 1, last_byte);
  prefix.back() = static_cast<char>(static_cast<unsigned char>(prefix.back()) + 1);
  return prefix;
}

std::string first_name_of(const Listing& listing) {
  if (listing.cursor().empty()) return listing.prefix();
  return std::max(listing.prefix(), listing.cursor() + '\0');
}

std::optional<NamePage> page_of(const Result& result) {
  auto names = result.columns() == 2 ? names_in(result.text(0).value_or("")) : std::nullopt;
  if (!names) return std::nullopt;
  NamePage page{.names = *std::move(names)};
  page.cursor = result.text(1).value_or("");
  return page;
}

std::optional<NameQueue> queue_of(const Result& result, std::size_t most, bool keeps_queues) {
  const std::optional<std::int64_t> clock = result.integer(1);
  const std::optional<std::int64_t> waiters = result.integer(2);
  if (result.columns() != 4 || !clock || !waiters) return std::nullopt;
  NameQueue queue;
  Words holders(result.text(0).value_or(""));
  while (holders.any()) {
    if (queue.holders.size() == most) return std::nullopt;
    queue.holders.push_back(holder_entry(holders, *clock));
  }
  Words waits(result.text(3).value_or(""));
  while (waits.any()) {
    if (queue.waiters.size() == most) return std::nullopt;
    queue.waiters.push_back(waiter_entry(waits));
  }
  if (!holders.good() || !waits.good()) return std::nullopt;
  // A waiter without a ticket is not counted.
  if (keeps_queues || *waiters > 0) queue.waiters_in_all = static_cast<std::size_t>(*waiters);
  return queue;
}

}  // namespace mortise::postgres
