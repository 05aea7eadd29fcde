// SPDX-License-Identifier: MIT
// The scripts called one by one, as the library's requests call them: for decisions that depend on
// what a server keeps for hours, or on the order of what comes from several clients. What takes
// hours is set into the lock as they would have left it.
#pragma once

#include "fault/redis_fixture.hpp"
#include "redis/answer.hpp"

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace mortise::fault {

class RedisScriptTest : public RedisTest {
 protected:
  static constexpr std::int64_t hour = 3'600'000;                // ms
  static constexpr std::uint64_t ahead = 4'000'000'000'000'000;  // us: the clock of 2096

  /// How a request travels, and what it wants; the mode is the first of the flags.
  struct Ask {
    std::string flags = "f01";
    int epoch = 1;
    std::int64_t lease = 30'000;
  };

  /// @return an attempt of the client that has this letter.
  [[nodiscard]] static std::string attempt(char client) { return std::string(16, client) + "1"; }
  std::string call(const redis::Script& script, const RedisTalk::Command& words) {
    return server().talk().expect_ok(command("EVAL", std::string(script.text), words)).text;
  }
  /// Many at once: after three seconds without a word who waits counts as silent, and so long many
  /// calls of their own may take.
  std::vector<std::string> call_all(const redis::Script& script,
                                    const std::vector<RedisTalk::Command>& all) {
    RedisTalk talk = server().talk();
    const std::string sha = talk.expect_ok({"SCRIPT", "LOAD", std::string(script.text)}).text;
    for (const RedisTalk::Command& words : all) talk.send(command("EVALSHA", sha, words));
    std::vector<std::string> answers;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::optional<RedisAnswer> answer = talk.receive(patience);
      if (!answer || answer->is_error()) throw test::RedisTalkError(answer ? answer->text : "");
      answers.push_back(answer->text);
    }
    return answers;
  }
  [[nodiscard]] RedisTalk::Command command(const char* verb, const std::string& script,
                                           const RedisTalk::Command& words) const {
    RedisTalk::Command command{verb, script, "1", at_};
    if (words.at(1).starts_with('r')) {
      command[2] = "2";
      command.emplace_back("a");
    }
    command.insert(command.end(), words.begin(), words.end());
    return command;
  }
  std::string acquire(char client, const Ask& ask) {
    return call(redis::scripts::acquire, {attempt(client), ask.flags, std::to_string(ask.epoch),
                                          std::to_string(ask.lease), "label"});
  }
  std::string acquire(char client) { return acquire(client, Ask()); }
  /// By a client with `interop=redisson`.
  std::string acquire_keyed(char client) { return acquire(client, {.flags = "r01"}); }
  std::string cancel(char client, const std::string& flags = "f0", int epoch = 1) {
    return call(redis::scripts::cancel, {attempt(client), flags, std::to_string(epoch)});
  }
  /// Of the hold that the server knows of.
  std::string release(const std::string& flags = "f0", int epoch = 1) {
    return call(redis::scripts::release, {hold(), flags, std::to_string(epoch)});
  }
  std::string renew(const std::string& hold, std::int64_t lease = 30'000,
                    const std::string& mode = "f") {
    return call(redis::scripts::renew, {"", mode, hold, std::to_string(lease)});
  }

  /// Of the hold that the server tells of, if there is one.
  std::string force(const std::string& mode = "f") {
    const auto found = redis::Answer::parse(call(redis::scripts::inspect, {"", mode}));
    return call(redis::scripts::force_release, {"", mode, found ? found->last_grant() : ""});
  }

  [[nodiscard]] std::string get(const std::string& which) { return field("a", which); }
  [[nodiscard]] std::string hold() { return hold_of("a"); }
  [[nodiscard]] bool has(const std::string& which) {
    return server().talk().command({"HEXISTS", at_, which}).integer == 1;
  }
  void set(const std::string& which, const std::string& value) {
    server().talk().expect_ok({"HSET", key("a"), which, value});
  }
  [[nodiscard]] bool owns(char client) { return hold().ends_with(" " + attempt(client) + " "); }
  /// By what is written, since each script may give a lock that has lapsed to a waiter.
  [[nodiscard]] bool holds(char client) { return owns(client) && !get("g").empty(); }
  [[nodiscard]] std::uint64_t number(const std::string& name = "a") {
    const std::string written = "0000000" + hold_of(name);
    const std::string digits = written.substr(0, written.find(' '));
    if (digits.size() < 13) return 0;
    const std::size_t seconds = digits.size() - 5;
    return std::stoull(digits.substr(0, seconds), nullptr, 16) * 1'000'000 +
           std::stoull(digits.substr(seconds), nullptr, 16);
  }
  /// @return whether the hold's lease ends so many ms after its grant, or less than a second later.
  [[nodiscard]] bool lasts(std::int64_t lease, const std::string& name = "a") {
    const std::int64_t behind = end(name) - static_cast<std::int64_t>(number(name) / 1'000);
    return behind >= lease && behind < lease + 1'000;
  }
  /// @return when the lease ends, in ms of the server's clock; 0 = it was freed.
  [[nodiscard]] std::int64_t end(const std::string& name = "a") {
    constexpr std::int64_t far = 100'000'000;  // ms: see scripts/lock.lua
    constexpr std::int64_t bucket = 4'096'000;
    const std::string g = field(name, "g");
    if (g.empty()) return 0;
    const auto granted = static_cast<std::int64_t>(number(name) / 1'000);
    const std::int64_t behind = std::stoll(g);
    return behind < far ? granted + behind : granted - granted % bucket + behind - far;
  }
  /// The last grant is this client's and got this number; the lease of its hold, if it stands, ends
  /// as it did.
  void set_owner(const std::string& owner, std::uint64_t number) {
    if (has("g")) set("g", std::to_string(end() - static_cast<std::int64_t>(number / 1'000)));
    set("o", hold_text(owner, number) + "label");
  }
  /// @return a hold as requests name it.
  [[nodiscard]] static std::string hold_text(const std::string& owner, std::uint64_t number) {
    std::array<char, 32> digits{};
    static_cast<void>(std::snprintf(digits.data(), digits.size(), "%08llx%05llx ",
                                    static_cast<unsigned long long>(number / 1'000'000),
                                    static_cast<unsigned long long>(number % 1'000'000)));
    return digits.data() + owner + " ";
  }
  /// The lock was taken by this client when the server's clock was far ahead.
  void set_ahead(char client) { set_owner(attempt(client), ahead); }
  /// The lease of the hold has run out.
  void lapse() { set("g", std::to_string(-static_cast<std::int64_t>(ahead))); }
  /// @return the inboxes of these clients, open.
  [[nodiscard]] RedisTalk listen(std::string_view clients) {
    RedisTalk talk = server().talk();
    for (const char client : clients) {
      talk.expect_ok({"SUBSCRIBE", "mortise:inbox:" + std::string(16, client)});
    }
    return talk;
  }
  /// @return ms that a key has to live; negative = for ever, or there is none.
  [[nodiscard]] std::int64_t life(const std::string& of) {
    return server().talk().command({"PTTL", of}).integer;
  }
  [[nodiscard]] std::int64_t life() { return life(key("a")); }
  /// Hours later: the key's time is nearly over.
  void age() {
    constexpr std::uint64_t hours = std::uint64_t{2 * hour} * 1'000;
    const std::string owner = hold();
    const std::size_t from = owner.find(' ') + 1;
    if (from != 0) set_owner(owner.substr(from, owner.find(' ', from) - from), number() - hours);
    server().talk().expect_ok({"PEXPIRE", key("a"), "60000"});
  }

  std::string at_ = key("a");  ///< what the scripts are about
};

}  // namespace mortise::fault
