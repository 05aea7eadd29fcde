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

  /// What a request to run the key says.
  struct Ask {
    bool waits = true;
    bool importing = false;  // the slot is on its way to the server
    std::int64_t lease = 30'000;
    char repeat = 'f';
    std::int64_t keep = day;
    std::string fingerprint = "print";
    std::string told = {};
    std::string void_after = "9000000000000000";
  };

  RedisOnceTest() { at_ += '!'; }
  [[nodiscard]] const std::string& at() const { return at_; }
  [[nodiscard]] RedisTalk::Command words_of(const redis::Script& script,
                                            const RedisTalk::Command& words) {
    return command("EVAL", std::string(script.text), words);
  }
  [[nodiscard]] RedisTalk::Command begin_words(char client, const Ask& ask) {
    return words_of(redis::scripts::once::begin,
                    {attempt(client), ask.void_after, std::to_string(ask.lease),
                     std::string("label of ") + client, std::string(1, ask.repeat),
                     std::to_string(ask.keep), ask.fingerprint,
                     std::string(ask.waits ? "wait" : "try") + (ask.importing ? " importing" : ""),
                     ask.told, "3600000"});
  }
  redis::Answer begin(char client, const Ask& ask) {
    return understood(server().talk().expect_ok(begin_words(client, ask)));
  }
  redis::Answer begin(char client) { return begin(client, Ask()); }
  /// @return the number of the run; 0 = it was not granted
  std::uint64_t run(char client, const Ask& ask) {
    const redis::Answer answer = begin(client, ask);
    return answer.kind == redis::Answer::Kind::granted ? answer.run : 0;
  }
  std::uint64_t run(char client) { return run(client, Ask()); }

  [[nodiscard]] static RedisTalk::Command conclude_words(const Held& hold, char letter,
                                                         const std::string& bytes,
                                                         std::int64_t keep = day,
                                                         bool runs_again = false) {
    return {hold.attempt, hold.number, std::string(1, letter), std::to_string(keep), bytes,
            "3600000",    "",          runs_again ? "1" : ""};
  }
  std::string conclude(const Held& hold, char letter, const std::string& bytes,
                       std::int64_t keep = day) {
    return outcome_of(
        call(redis::scripts::once::conclude, conclude_words(hold, letter, bytes, keep)));
  }
  std::string succeed(const std::string& bytes) { return conclude(hold(), 'Y', bytes); }
  std::string fail(const std::string& bytes) { return conclude(hold(), 'F', bytes); }
  std::string give_back() {
    const Held its = hold();
    return outcome_of(call(redis::scripts::once::conclude,
                           {its.attempt, its.number, "", "0", "", "3600000", "", ""}));
  }
  /// The runner would run its key even after a success.
  std::string succeed_and_repeat(const std::string& bytes) {
    return outcome_of(
        call(redis::scripts::once::conclude, conclude_words(hold(), 'Y', bytes, day, true)));
  }
  /// Looks at an attempt. @param grant the number that the client got; empty = not decided
  redis::Answer look_at(char client, const std::string& grant) {
    return understood(call(redis::scripts::once::cancel, {attempt(client), "", grant}));
  }
  std::string undo(const Held& its) { return conclude(its, 'U', "", 0); }
  mortise::Record recall(const std::string& forget = {}) {
    const redis::Answer answer = understood(call(redis::scripts::once::recall, {forget}));
    EXPECT_TRUE(answer.record);
    return answer.record ? *answer.record : mortise::Record();
  }
  /// How many wait.
  [[nodiscard]] long long waiting() {
    return server().talk().command({"ZCARD", at() + ":queue"}).integer;
  }
  /// What it was to be remembered for is over.
  void outlive() { set("forget_at", "1"); }
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

 private:
  /// The word of a reply that the library understands.
  [[nodiscard]] static std::string outcome_of(const RedisAnswer& answer) {
    EXPECT_TRUE(redis::ReleaseAnswer::parse(reply_of(answer))) << answer.words();
    return answer.items.empty() ? std::string() : answer.items.front().text;
  }
};

}  // namespace mortise::fault
