// SPDX-License-Identifier: MIT
// The scripts of keys called one by one, as the library's requests call them.
#pragma once

#include "fault/redis_script.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace mortise::fault {

class RedisOnceTest : public RedisScriptTest {
 protected:
  static constexpr std::int64_t day = 86'400'000;  // ms

  /// How a request to run the key travels, and what it says.
  struct Ask {
    std::string flags = "f01";
    int epoch = 1;
    std::int64_t lease = 30'000;
    char repeat = 'f';
    std::int64_t keep = day;
    std::string fingerprint = "print";
    std::string told = {};
  };

  [[nodiscard]] static std::string at(const std::string& name = "a") { return key(name) + "!"; }
  [[nodiscard]] RedisTalk::Command words_of(const redis::Script& script,
                                            const RedisTalk::Command& words) {
    RedisTalk::Command command{"EVAL", std::string(script.text), "1", at()};
    command.insert(command.end(), words.begin(), words.end());
    return command;
  }
  std::string call(const redis::Script& script, const RedisTalk::Command& words) {
    return server().talk().expect_ok(words_of(script, words)).text;
  }
  [[nodiscard]] RedisTalk::Command begin_words(char client, const Ask& ask) {
    RedisTalk::Command words{
        attempt(client), ask.flags, std::to_string(ask.epoch), std::to_string(ask.lease),
        ask.repeat + std::to_string(ask.keep) + " " + std::to_string(ask.fingerprint.size()) + " " +
            ask.fingerprint + "label of " + client};
    if (!ask.told.empty()) words.push_back(ask.told);
    return words_of(redis::scripts::once::begin, words);
  }
  /// The answer must be one that the library understands.
  redis::Answer begin(char client, const Ask& ask) {
    const std::string text = server().talk().expect_ok(begin_words(client, ask)).text;
    const auto answer = redis::Answer::parse(text);
    EXPECT_TRUE(answer) << text;
    return answer.value_or(redis::Answer());
  }
  redis::Answer begin(char client) { return begin(client, Ask()); }
  /// @return the number of the run; 0 = it was not granted
  std::uint64_t run(char client, const Ask& ask) {
    const redis::Answer answer = begin(client, ask);
    return answer.kind == redis::Answer::Kind::granted ? answer.run : 0;
  }
  std::uint64_t run(char client) { return run(client, Ask()); }

  [[nodiscard]] std::string get(const std::string& which) {
    return server().talk().command({"HGET", at(), which}).text;
  }
  /// The hold that stands, or the last one.
  [[nodiscard]] std::string hold() {
    const std::string owner = get("o");
    return owner.substr(0, owner.find(' ', owner.find(' ') + 1) + 1);
  }
  std::string conclude(const std::string& hold, char letter, const std::string& bytes,
                       std::int64_t keep = day, char copies = '0') {
    return call(redis::scripts::once::conclude,
                {hold, std::string("f") + copies + letter, "1", std::to_string(keep), bytes});
  }
  std::string succeed(const std::string& bytes) { return conclude(hold(), 'Y', bytes); }
  std::string fail(const std::string& bytes) { return conclude(hold(), 'F', bytes); }
  std::string give_back() { return call(redis::scripts::once::conclude, {hold(), "f0", "1"}); }
  mortise::Record recall(const std::string& forget = {}) {
    RedisTalk::Command words{"", "f"};
    if (!forget.empty()) words.push_back(forget);
    const std::string text = call(redis::scripts::once::recall, words);
    const auto answer = redis::Answer::parse(text);
    EXPECT_TRUE(answer && answer->record) << text;
    return answer && answer->record ? *answer->record : mortise::Record();
  }
  /// Of the last grant.
  [[nodiscard]] std::uint64_t number() {
    constexpr std::size_t seconds = 8;  // digits, then those of the microseconds
    const std::string owner = get("o");
    return std::stoull(owner.substr(0, seconds), nullptr, 16) * 1'000'000 +
           std::stoull(owner.substr(seconds, 5), nullptr, 16);
  }
  void set(const std::string& which, const std::string& value) {
    server().talk().expect_ok({"HSET", at(), which, value});
  }
  /// The lease of the hold has run out.
  void lapse() { set("g", "-4000000000000000"); }
  /// What it was to be remembered for is over.
  void outlive() { set("k", get("k").substr(0, get("k").find(' ')) + " 1"); }
  [[nodiscard]] std::int64_t life() { return server().talk().command({"PTTL", at()}).integer; }
  /// @return what comes next, as the library reads it.
  [[nodiscard]] static redis::Push next(RedisTalk& inbox) {
    const auto message = inbox.receive(patience);
    if (!message || message->items.empty()) return {};
    const auto push = redis::Push::parse(message->items.back().text);
    EXPECT_TRUE(push) << message->items.back().text;
    return push.value_or(redis::Push());
  }
  [[nodiscard]] static bool is_silent(RedisTalk& inbox) { return !inbox.receive(50ms); }
  [[nodiscard]] static AttemptId id(char client) {
    return redis::parse_attempt(attempt(client)).value();
  }
};

}  // namespace mortise::fault
