// SPDX-License-Identifier: MIT
// The scripts called one by one, as the library's requests call them: for decisions that depend on
// what a server keeps for hours, or on the order of what comes from several clients. What takes
// hours is set into the lock as they would have left it.
#pragma once

#include "fault/redis_fixture.hpp"
#include "redis/store/answer.hpp"
#include "redis/store/reply.hpp"
#include "support/redis_fields.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::fault {

/// @return an answer as the library gets it.
[[nodiscard]] inline redis::Reply reply_of(const RedisAnswer& answer) {
  using From = RedisAnswer::Kind;
  using To = redis::Reply::Kind;
  const To kind = answer.kind == From::integer ? To::integer
                  : answer.kind == From::text  ? To::string
                  : answer.kind == From::error ? To::error
                  : answer.kind == From::items ? To::array
                                               : To::nil;
  redis::Reply reply{.kind = kind, .integer = answer.integer, .text = answer.text};
  for (const RedisAnswer& each : answer.items) reply.items.push_back(reply_of(each));
  return reply;
}

class RedisScriptTest : public RedisTest {
 protected:
  static constexpr std::int64_t hour = 3'600'000;                // ms
  static constexpr std::uint64_t ahead = 4'000'000'000'000'000;  // us: the clock of 2096

  /// How a request travels, and what it wants.
  struct Ask {
    char order = 'f';
    bool waits = true;
    bool keyed = false;  ///< by a client with `interop=redisson`
    bool hears = false;  ///< its client listens to Redisson's channel
    std::int64_t lease = 30'000;
    std::int64_t remembered = hour;
    std::string void_after = "9000000000000000";
  };

  /// @return an attempt of the client that has this letter.
  [[nodiscard]] static std::string attempt(char client) { return std::string(16, client) + "1"; }
  /// @param keyed with the second key, that of Redisson
  [[nodiscard]] RedisTalk::Command command(const char* verb, const std::string& script,
                                           const RedisTalk::Command& words,
                                           bool keyed = false) const {
    RedisTalk::Command command{verb, script, keyed ? "2" : "1", at_};
    if (keyed) command.emplace_back("a");
    command.insert(command.end(), words.begin(), words.end());
    return command;
  }
  RedisAnswer call(const redis::Script& script, const RedisTalk::Command& words,
                   bool keyed = false) {
    return server().talk().expect_ok(command("EVAL", std::string(script.text), words, keyed));
  }
  /// Many at once: after three seconds without a word who waits counts as silent, and so long many
  /// calls of their own may take.
  std::vector<RedisAnswer> call_all(const redis::Script& script,
                                    const std::vector<RedisTalk::Command>& all,
                                    bool keyed = false) {
    RedisTalk talk = server().talk();
    const std::string sha = talk.expect_ok({"SCRIPT", "LOAD", std::string(script.text)}).text;
    for (const RedisTalk::Command& words : all) talk.send(command("EVALSHA", sha, words, keyed));
    std::vector<RedisAnswer> answers;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::optional<RedisAnswer> answer = talk.receive(patience);
      if (!answer || answer->is_error()) throw test::RedisTalkError(answer ? answer->text : "");
      answers.push_back(*answer);
    }
    return answers;
  }
  /// @return the first item: what happened, in a word.
  [[nodiscard]] static std::string word_of(const RedisAnswer& answer) {
    return answer.items.empty() ? answer.words() : answer.items.front().text;
  }
  /// As the library reads it.
  [[nodiscard]] static redis::Answer understood(const RedisAnswer& answer) {
    const auto its = redis::Answer::parse(reply_of(answer));
    EXPECT_TRUE(its) << answer.words();
    return its.value_or(redis::Answer());
  }
  /// @param order the first letter of the word
  [[nodiscard]] static std::string word_of_order(char order) {
    return order == 'f' ? "fair" : order == 'u' ? "unfair" : "redisson";
  }
  /// @param kind as acquire.lua lists it
  [[nodiscard]] static RedisTalk::Command asking(const std::string& who, const Ask& ask, char kind,
                                                 const std::string& label = "label") {
    const char order = ask.keyed ? 'r' : ask.order;
    std::string flags{ask.keyed ? 'x' : kind};
    flags += " " + word_of_order(order) + (ask.waits ? " wait" : " try");
    if (ask.hears) flags += " listening";
    return {who,
            ask.void_after,
            std::to_string(ask.lease),
            std::to_string(ask.lease + ask.remembered),
            label,
            flags};
  }
  redis::Answer ask(char client, const Ask& ask) {
    return understood(call(redis::scripts::acquire, asking(attempt(client), ask, 'w'), ask.keyed));
  }
  std::string acquire(char client, const Ask& ask) {
    return word_of(call(redis::scripts::acquire, asking(attempt(client), ask, 'w'), ask.keyed));
  }
  std::string acquire(char client) { return acquire(client, Ask()); }
  /// By a client with `interop=redisson`.
  std::string acquire_keyed(char client) { return acquire(client, {.keyed = true}); }
  std::string cancel(char client, bool keyed = false) {
    return word_of(call(redis::scripts::cancel, {attempt(client), life_of_next}, keyed));
  }
  [[nodiscard]] static RedisTalk::Command releasing(const Held& hold, char order = 'f',
                                                    bool heard = false) {
    return {hold.attempt, hold.number, life_of_next,
            word_of_order(order) + (heard ? " listening" : "")};
  }
  std::string release_of(const Held& hold, char order = 'f') {
    return word_of(call(redis::scripts::release, releasing(hold, order), order == 'r'));
  }
  /// Of the hold that the server knows of. @param order 'r' = by a client with `interop=redisson`
  std::string release(char order = 'f') { return release_of(hold(), order); }
  /// @return 0 or more: see renew.lua
  long long renew(const Held& hold, std::int64_t lease = 30'000, bool keyed = false,
                  std::int64_t remembered = hour) {
    const RedisAnswer answer = call(redis::scripts::renew,
                                    {keyed ? "redisson" : "", hold.attempt, hold.number,
                                     std::to_string(lease), std::to_string(lease + remembered)},
                                    keyed);
    return answer.items.at(2).integer;
  }
  redis::Answer look(bool keyed = false) {
    return understood(call(redis::scripts::inspect, {""}, keyed));
  }
  /// @param which its number, or how the hold of Redisson is named
  std::string force(const std::string& which, bool keyed = false) {
    return word_of(call(redis::scripts::force_release, {which, life_of_next}, keyed));
  }
  /// Of the hold that the server tells of, if there is one.
  std::string force_holder(bool keyed = false) {
    const redis::Answer found = look(keyed);
    return force(found.holding.number == 0 ? found.mark() : std::to_string(found.holding.number),
                 keyed);
  }

  [[nodiscard]] std::string get(const std::string& which) {
    return server().talk().command({"HGET", at_, test::stored_field(which)}).text;
  }
  [[nodiscard]] Held hold() { return {get("owner"), get("grant")}; }
  [[nodiscard]] bool has(const std::string& which) {
    return server().talk().command({"HEXISTS", at_, test::stored_field(which)}).integer == 1;
  }
  void set(const std::string& which, const std::string& value) {
    server().talk().expect_ok({"HSET", at_, test::stored_field(which), value});
  }
  /// @return the server's clock, in us.
  [[nodiscard]] std::int64_t server_time() {
    const RedisAnswer time = server().talk().expect_ok({"TIME"});
    return std::stoll(time.items.at(0).text) * 1'000'000 + std::stoll(time.items.at(1).text);
  }
  /// When a waiter was heard of last. Its lease and label stay.
  void set_heard(const std::string& who, const std::string& when) {
    RedisTalk talk = server().talk();
    const std::string place = talk.command({"HGET", at_ + ":waiters", who}).text;
    ASSERT_NE(place.find(' '), std::string::npos) << who << " does not wait";
    talk.expect_ok({"HSET", at_ + ":waiters", who, when + place.substr(place.find(' '))});
  }
  [[nodiscard]] bool owns(char client) { return get("owner") == attempt(client); }
  /// By what is written, since each script may give a lock that has lapsed to a waiter.
  [[nodiscard]] bool holds(char client) { return owns(client) && has("lease"); }
  [[nodiscard]] std::uint64_t number() {
    const std::string text = get("grant");
    return text.empty() ? 0 : std::stoull(text);
  }
  /// @return when the lease ends, in us of the server's clock; 0 = it was freed.
  [[nodiscard]] std::int64_t end() {
    const std::string text = get("lease");
    return text.empty() ? 0 : static_cast<std::int64_t>(number()) + std::stoll(text) * 1'000;
  }
  /// @return whether the hold's lease is that long, in ms, from its grant on.
  [[nodiscard]] bool lasts(std::int64_t lease) {
    return end() == static_cast<std::int64_t>(number()) + lease * 1'000;
  }
  /// Checks when the hold ends: `lease` ms after the moment of this answer, or less than 1 ms
  /// later.
  void expect_lease(const RedisAnswer& answer, std::int64_t lease) {
    const std::int64_t moment = answer.items.at(1).integer;
    EXPECT_GE(end() - moment, lease * 1'000) << "in us, with the number " << number();
    EXPECT_LT(end() - moment, lease * 1'000 + 1'000) << "in us, with the number " << number();
  }
  /// @return numbers that the last grant may have: of an hour ago, and if the server's clock has
  /// stepped back by 10 s or by decades since that grant.
  [[nodiscard]] std::vector<std::uint64_t> last_numbers() {
    const auto now = static_cast<std::uint64_t>(server_time());
    return {now - 3'600'000'000, now + 10'000'000, ahead};
  }
  /// The lock was taken by this client when the server's clock was far ahead.
  void set_ahead(char client) {
    set("owner", attempt(client));
    set("grant", std::to_string(ahead));
  }
  /// The lease of the hold has run out.
  void lapse() { set("lease", "-" + std::to_string(number() / 1'000)); }
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
  [[nodiscard]] std::int64_t life() { return life(at_); }
  /// Hours later: the key's time is nearly over.
  void age() { server().talk().expect_ok({"PEXPIRE", at_, "60000"}); }

  /// Of a key whose hold a waiter gets, or nobody: two seconds, and an hour.
  static constexpr const char* life_of_next = "3602000";
  std::string at_ = key("a");  ///< what the scripts are about
};

}  // namespace mortise::fault
