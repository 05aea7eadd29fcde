// SPDX-License-Identifier: MIT
// The scripts of one server of a quorum called one by one: see redis_script.hpp.
#pragma once

#include "fault/redis_script.hpp"
#include "redlock/scripts.hpp"

namespace mortise::fault {

class RedlockScriptTest : public RedisScriptTest {
 protected:
  static constexpr std::uint64_t proposal = 1'700'000'000'000'000;
  static constexpr std::uint64_t any_time = 8'000'000'000'000'000;  // us: no request comes later

  /// What is asked for a vote, as the library asks.
  struct Vote {
    std::string manner = "00";  ///< wants a hint; steps back. Or "hold"
    int step = 1;
    std::int64_t lease = 30'000;
    std::uint64_t number = proposal;
    std::uint64_t void_after = any_time;
  };

  /// @return the reply's words, without the server's time.
  std::string run(const redis::Script& script, const RedisTalk::Command& words,
                  const std::string& at) {
    RedisTalk::Command command{"EVAL", std::string(script.text), "1", at};
    command.insert(command.end(), words.begin(), words.end());
    return words_of(server().talk().expect_ok(command).items);
  }
  std::string run(const redis::Script& script, const RedisTalk::Command& words) {
    return run(script, words, at_);
  }
  /// @return "vote <number>", "busy ...", "too_late" or "refused".
  std::string vote(char client, const Vote& ask) {
    return run(redlock::scripts::acquire, words_of(client, ask, "label"));
  }
  std::string vote(char client) { return vote(client, Vote()); }
  /// The same for a reader. @param beside whose hold as an owner its client has
  std::string share(char client, const Vote& ask, const std::string& beside = {}) {
    RedisTalk::Command words = words_of(client, ask, "label " + std::string(1, client));
    words.push_back(beside);
    return run(redlock::scripts::share, words);
  }
  std::string settle(char client, std::uint64_t number, int step = 1) {
    return run(redlock::scripts::settle,
               {attempt(client), std::to_string(step), std::to_string(number)});
  }
  /// @param leaves it wants no more hints    @param barred ms, by an administrator
  std::string release(const std::string& whose, const std::string& number, bool leaves = true,
                      int step = 1, const std::string& barred = {}) {
    return run(redlock::scripts::release,
               {whose, number, std::to_string(step), leaves ? "1" : "0", barred});
  }
  std::string release(char client, std::uint64_t number) {
    return release(attempt(client), std::to_string(number));
  }
  /// Of an attempt, whatever its number.
  std::string undo(char client, bool leaves = true, int step = 1) {
    return release(attempt(client), "", leaves, step);
  }
  /// @return the code for that lock.
  std::string renew(char client, std::uint64_t number, std::int64_t lease = 30'000) {
    return run(redlock::scripts::renew,
               {attempt(client), std::to_string(number), std::to_string(lease)})
        .substr(std::string("renewed ").size());
  }
  std::string relock(char client, std::uint64_t number, int step = 1, std::int64_t lease = 30'000) {
    return vote(client, {.manner = "hold", .step = step, .lease = lease, .number = number});
  }
  std::string inspect(const std::string& what = {}) {
    return run(redlock::scripts::inspect, {what});
  }

  // The fields of a vote have their own names.
  [[nodiscard]] std::string get(const std::string& which) {
    return server().talk().command({"HGET", at_, which}).text;
  }
  [[nodiscard]] bool has(const std::string& which) {
    return server().talk().command({"HEXISTS", at_, which}).integer == 1;
  }
  void set(const std::string& which, const std::string& value) {
    server().talk().expect_ok({"HSET", at_, which, value});
  }
  [[nodiscard]] bool owns(char client) { return get("owner") == attempt(client); }
  [[nodiscard]] std::uint64_t number() { return std::stoull("0" + get("grant")); }
  void lapse() { set("ends", "1000000"); }
  void age() { server().talk().expect_ok({"PEXPIRE", key("a"), "60000"}); }
  [[nodiscard]] static std::string granted(std::uint64_t number) {
    return "vote " + std::to_string(number);
  }
  [[nodiscard]] static bool is_busy(const std::string& answer) {
    return answer.starts_with("busy ");
  }
  [[nodiscard]] bool holds(char client) { return inspect().starts_with("held ") && owns(client); }
  [[nodiscard]] bool is_free() { return inspect().starts_with("free "); }
  /// @return the server's clock, in us.
  [[nodiscard]] std::uint64_t clock() {
    const RedisAnswer time = server().talk().expect_ok({"TIME"});
    return std::stoull(time.items.at(0).text) * 1'000'000 + std::stoull(time.items.at(1).text);
  }

 private:
  static RedisTalk::Command words_of(char client, const Vote& ask, const std::string& label) {
    return {attempt(client),
            std::to_string(ask.step),
            std::to_string(ask.void_after),
            std::to_string(ask.lease),
            std::to_string(ask.number),
            label,
            ask.manner};
  }
  static std::string words_of(const std::vector<RedisAnswer>& items) {
    std::string words;
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i == 1) continue;
      const RedisAnswer& item = items[i];
      words += i == 0 ? "" : " ";
      if (item.kind == RedisAnswer::Kind::integer) {
        words += std::to_string(item.integer);
      } else if (item.kind == RedisAnswer::Kind::items) {
        for (const RedisAnswer& each : item.items) words += "<" + each.text + ">";
      } else {
        words += item.text;
      }
    }
    return words;
  }
};

}  // namespace mortise::fault
