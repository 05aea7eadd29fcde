// SPDX-License-Identifier: MIT
// Scripts as they are called for readers, and what they leave in the lock.
#pragma once

#include "fault/redis_script.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mortise::fault {

class RedisReadersTest : public RedisScriptTest {
 protected:
  static constexpr std::size_t place = 61;  // see scripts/readers.lua
  static constexpr std::size_t digits = 16;

  /// How one asks to read.
  struct Read {
    std::string flags = "f01s";
    std::int64_t lease = 30'000;
    std::string own{};  ///< the attempt of the hold beside which it reads
    int epoch = 1;
  };
  [[nodiscard]] static RedisTalk::Command reading(const std::string& who, const Read& ask) {
    RedisTalk::Command words{who, ask.flags, std::to_string(ask.epoch), std::to_string(ask.lease),
                             "reads"};
    if (!ask.own.empty()) words.push_back(ask.own);
    return words;
  }
  std::string ask_to_read(const std::string& who, const Read& ask) {
    return note(who, call(redis::scripts::acquire, reading(who, ask)));
  }
  std::string read(char client, const Read& ask) { return ask_to_read(attempt(client), ask); }
  std::string read(char client) { return read(client, Read()); }
  [[nodiscard]] bool reads(char client) { return read(client).starts_with("G"); }
  /// @return the number that it was granted last.
  [[nodiscard]] std::uint64_t number_of(char client) { return numbers_[attempt(client)]; }
  [[nodiscard]] std::string hold_of(char client) {
    return hold_text(attempt(client), number_of(client));
  }
  std::string leave(char client, const std::string& flags = "f0") {
    return call(redis::scripts::release, {hold_of(client), flags, "1"});
  }
  std::string prolong(char client, std::int64_t lease = 30'000) {
    return renew(hold_of(client), lease);
  }
  /// @return the answer of whoever tries to have it alone, and does not get it.
  [[nodiscard]] redis::Answer tried() {
    const auto answer = redis::Answer::parse(acquire('~' - 4, {.flags = "f00"}));
    EXPECT_TRUE(answer && answer->kind == redis::Answer::Kind::busy);
    return answer.value_or(redis::Answer{});
  }
  [[nodiscard]] bool is_written(char client) {
    const std::string text = acquire(client, {.flags = "f00"});
    const bool got = text.starts_with("G");
    if (got) {
      EXPECT_EQ(release(), "F");
    }
    return got;
  }
  /// @return whether it is noted as an owner is: see scripts/readers.lua
  [[nodiscard]] bool reads_alone(char client) {
    return get("o").find(" *" + attempt(client) + " ") != std::string::npos && !get("g").empty();
  }
  /// @return the names of what is noted of the lock, in order.
  [[nodiscard]] std::vector<std::string> fields() {
    std::vector<std::string> all;
    for (const RedisAnswer& each : server().talk().command({"HKEYS", key("a")}).items) {
      all.push_back(each.text);
    }
    std::sort(all.begin(), all.end());
    return all;
  }
  /// @return of who reads, as it is written, when the lease ends, in us; 0 = it does not.
  [[nodiscard]] std::int64_t end_of(char client) {
    if (reads_alone(client)) return end() * 1000;
    const std::size_t at = get("s").find(" " + attempt(client) + " ");
    return at == std::string::npos ? 0 : std::stoll(get("s").substr(at - 2 * digits, digits));
  }
  /// Its lease has run out long ago.
  void lapse_reader(char client) {
    if (reads_alone(client)) return set("g", "-1000");
    std::string all = get("s");
    const std::size_t at = all.find(" " + attempt(client) + " ");
    ASSERT_NE(at, std::string::npos);
    std::string its = all.substr(at - 2 * digits, place);
    all.erase(at - 2 * digits, place);
    its.replace(0, digits, std::string(digits - 1, '0') + "1");
    set("s", all + its);
  }
  /// Notes what the hears are told.
  /// @return the letter, and the number if there is one, of what came next for somebody
  std::optional<std::string> hear(RedisTalk& hears) {
    const std::optional<RedisAnswer> told = hears.receive(patience);
    if (!told || told->items.size() != 3) return std::nullopt;
    const std::optional<redis::Push> push = redis::Push::parse(told->items[2].text);
    if (!push) return std::nullopt;
    const redis::AttemptText who(push->attempt);
    if (push->kind == redis::Push::Kind::granted) numbers_[std::string(who.view())] = push->number;
    return std::string(1, told->items[2].text.front()) + " " + std::string(who.view());
  }
  [[nodiscard]] static std::string said(char letter, char client) {
    return std::string(1, letter) + " " + attempt(client);
  }

  std::string note(const std::string& who, std::string text) {
    const auto answer = redis::Answer::parse(text);
    if (answer && answer->kind == redis::Answer::Kind::granted) numbers_[who] = answer->number;
    return text;
  }

 private:
  std::map<std::string, std::uint64_t> numbers_;
};

}  // namespace mortise::fault
