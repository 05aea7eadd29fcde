// SPDX-License-Identifier: MIT
// The scripts of one server of a quorum called one by one: see redis_script.hpp.
#pragma once

#include "fault/redis_script.hpp"
#include "redlock/scripts.hpp"

namespace mortise::fault {

class RedlockScriptTest : public RedisScriptTest {
 protected:
  static constexpr std::uint64_t proposal = 1'700'000'000'000'000;

  struct Vote {
    std::string flags = "q000";
    int step = 1;
    std::int64_t lease = 30'000;
    std::uint64_t number = proposal;
  };

  /// @return "G <number>", B with what comes behind it, or R.
  std::string vote(char client, const Vote& ask) {
    return call(redlock::scripts::acquire,
                {attempt(client), ask.flags, std::to_string(ask.step), std::to_string(ask.lease),
                 "label", std::to_string(ask.number)});
  }
  std::string vote(char client) { return vote(client, Vote()); }
  std::string settle(char client, std::uint64_t number, int step = 1) {
    return call(redlock::scripts::settle,
                {attempt(client), "q", std::to_string(step), std::to_string(number)});
  }
  std::string release(const std::string& hold, const std::string& flags = "q01", int step = 1) {
    return call(redlock::scripts::release, {hold, flags, std::to_string(step)});
  }
  /// Of an attempt, whatever its number; it leaves, if not told otherwise.
  std::string undo(char client, const std::string& flags = "q01", int step = 1) {
    return release(attempt(client) + " ", flags, step);
  }
  std::string renew(const std::string& hold, std::int64_t lease = 30'000) {
    return call(redlock::scripts::renew, {"", "q", hold, std::to_string(lease)});
  }
  std::string relock(char client, std::uint64_t number, const std::string& flags = "q0",
                     int step = 1, std::int64_t lease = 30'000) {
    return call(redlock::scripts::relock,
                {hold_of(client, number), flags, std::to_string(step), std::to_string(lease)});
  }
  // Votes are kept otherwise than locks of one server: scripts/vote.lua says how.

  [[nodiscard]] bool owns(char client) { return get("o").starts_with(attempt(client) + " "); }
  [[nodiscard]] std::uint64_t number() {
    const std::string owner = get("o");
    return std::stoull("0" + owner.substr(owner.find(' ') + 1));
  }
  void set_ahead(char client) { set("o", hold_of(client, ahead)); }
  void lapse() { set("g", "1000000 1000"); }
  void age() {
    set("e", "1000000000");
    server().talk().expect_ok({"PEXPIRE", key("a"), "60000"});
  }
  [[nodiscard]] static std::string hold_of(char client, std::uint64_t number) {
    return attempt(client) + " " + std::to_string(number);
  }
  [[nodiscard]] static std::string granted(std::uint64_t number) {
    return "G " + std::to_string(number);
  }
  [[nodiscard]] bool holds(char client) {
    return call(redlock::scripts::inspect, {"", "q"}).starts_with("O") && owns(client);
  }
  [[nodiscard]] bool is_free() {
    return call(redlock::scripts::inspect, {"", "q"}).starts_with("E");
  }
};

}  // namespace mortise::fault
