// SPDX-License-Identifier: MIT
// Scripts as they are called for readers, and what they leave in the lock.
#pragma once

#include "fault/redis_script.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace mortise::fault {

class RedisReadersTest : public RedisScriptTest {
 protected:
  /// How one asks to read.
  struct Read {
    char order = 'f';
    bool waits = true;
    std::int64_t lease = 30'000;
    std::string own{};  ///< the attempt of the hold beside which it reads
    std::string void_after = "9000000000000000";
  };
  [[nodiscard]] static RedisTalk::Command reading(const std::string& who, const Read& how) {
    RedisTalk::Command words = asking(
        who,
        {.order = how.order, .waits = how.waits, .lease = how.lease, .void_after = how.void_after},
        'r', "reads");
    if (!how.own.empty()) words.push_back(how.own);
    return words;
  }
  std::string ask_to_read(const std::string& who, const Read& how) {
    return word_of(note(who, call(redis::scripts::acquire, reading(who, how))));
  }
  std::string read(char client, const Read& how) { return ask_to_read(attempt(client), how); }
  std::string read(char client) { return read(client, Read()); }
  [[nodiscard]] bool reads(char client) { return read(client) == "granted"; }
  /// @return the number that it was granted last.
  [[nodiscard]] std::uint64_t number_of(char client) { return numbers_[attempt(client)]; }
  [[nodiscard]] Held hold_of(char client) {
    return {attempt(client), std::to_string(number_of(client))};
  }
  std::string leave(char client, char order = 'f') { return release_of(hold_of(client), order); }
  long long prolong(char client, std::int64_t lease = 30'000) {
    return renew(hold_of(client), lease);
  }
  /// @return the answer of whoever tries to have it alone, and does not get it.
  [[nodiscard]] redis::Answer tried() {
    const redis::Answer answer = ask('~' - 4, {.waits = false});
    EXPECT_EQ(answer.kind, redis::Answer::Kind::busy);
    return answer;
  }
  [[nodiscard]] bool is_written(char client) {
    const bool got = acquire(client, {.waits = false}) == "granted";
    if (got) {
      EXPECT_EQ(release(), "released");
    }
    return got;
  }
  /// @return how many are noted as readers, those whose lease is over and those that let go
  /// included.
  [[nodiscard]] std::int64_t noted() {
    return server().talk().command({"ZCARD", at_ + ":readers"}).integer;
  }
  /// @return how many read.
  [[nodiscard]] std::int64_t readers() {
    return server().talk().command({"ZCOUNT", at_ + ":readers", "2", "+inf"}).integer;
  }
  /// @return when the lease of one that reads ends, in us; 0 = it does not read.
  [[nodiscard]] std::int64_t end_of(char client) {
    const std::string score =
        server().talk().command({"ZSCORE", at_ + ":readers", attempt(client)}).text;
    return score.empty() || score.front() == '-' ? 0 : std::stoll(score);
  }
  /// Its lease has run out long ago.
  void lapse_reader(const std::string& who) {
    server().talk().expect_ok({"ZADD", at_ + ":readers", "XX", "1", who});
    const RedisAnswer last =
        server().talk().command({"ZRANGE", at_ + ":readers", "-1", "-1", "WITHSCORES"});
    server().talk().expect_ok({"HSET", at_, "readers_until", last.items.at(1).text});
  }
  void lapse_reader(char client) { lapse_reader(attempt(client)); }
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

  RedisAnswer note(const std::string& who, RedisAnswer answer) {
    const auto its = redis::Answer::parse(reply_of(answer));
    if (its && its->kind == redis::Answer::Kind::granted) numbers_[who] = its->number;
    return answer;
  }

 private:
  std::map<std::string, std::uint64_t> numbers_;
};

}  // namespace mortise::fault
