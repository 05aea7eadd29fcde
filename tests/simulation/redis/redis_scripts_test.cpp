// SPDX-License-Identifier: MIT
// The model beside a real redis-server: the shipped scripts of both backends, called as clients,
// late copies and strangers might, with the same answers, pushes and keys to the byte.
#include "model/seed.hpp"
#include "redis/store/scripts.hpp"
#include "redlock/scripts.hpp"
#include "simulation/redis/beside/pair.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <initializer_list>
#include <random>
#include <set>

namespace simulation::redis {
namespace {

namespace shipped = mortise::redis::scripts;
namespace votes = mortise::redlock::scripts;

class Callers {
 public:
  Callers(std::uint64_t seed, Pair& pair) : luck_(seed), pair_(pair) {
    for (int client = 0; client < clients; ++client) {
      for (int i = 0; i < 3; ++i) {
        attempts_.push_back(std::string(16, static_cast<char>('a' + client)) + "-" +
                            std::to_string(i));
      }
    }
  }

  std::size_t below(std::size_t size) {
    return std::uniform_int_distribution<std::size_t>(0, size - 1)(luck_);
  }

  void act() {
    if (below(3) == 0) return ask_for_a_key();
    switch (below(24)) {
      case 0: listen(); break;
      case 1: meddle(); break;
      case 2: administrate(); break;
      case 3: forget_scripts(); break;
      case 4:
      case 5:
      case 6: vote(); break;
      case 7: look(); break;
      case 8:
        if (below(3) == 0) call(shipped::force_release, {which(), life()});
        break;
      case 18: ask(); break;
      case 9:
      case 10: renew(); break;
      case 11:
      case 12: cancel(); break;
      case 13:
      case 14:
      case 15:
      case 16:
      case 17: release(); break;
      default: acquire();
    }
  }

  /// Which of the orders the next calls have, how long the lock is remembered, and which
  /// it is.
  void choose() {
    constexpr std::array<std::string_view, 4> modes{"fair", "fair", "unfair", "redisson"};
    constexpr std::array<int, 4> lives{3'600'000, 3'600'000, 60'000, 7'200'000};
    mode_ = modes[below(modes.size())];
    life_ = lives[below(lives.size())];
    name_ = "lock " + std::to_string(below(3));
  }

 private:
  static constexpr int clients = 4;

  const std::string& attempt() { return attempts_[below(attempts_.size())]; }
  std::string coin() { return below(2) == 0 ? "1" : "0"; }
  std::string epoch() { return std::to_string(below(4)); }
  std::string lease() {
    static const std::array<std::string, 5> leases{"100", "1000", "5000", "30000", "86400000"};
    return leases[below(leases.size())];
  }
  std::string label() {
    static const std::array<std::string, 4> labels{"", "host 7", "a\r\nb",
                                                   std::string("\0\xff", 2)};
    return labels[below(labels.size())];
  }
  std::string key() const { return "mortise:{" + name_ + "}"; }
  /// An attempt that holds the lock, and its number; or something stale.
  std::pair<std::string, std::string> hold(const std::string& of_key) {
    const LockSeen seen = pair_.model().lock(of_key);
    if (!last_.first.empty() && below(8) == 0) return last_;
    if (below(5) == 0) return {attempt(), std::to_string(1'700'000'000'000'000 + below(3))};
    last_ = {seen.attempt, std::to_string(seen.number)};
    if (!seen.holds.empty()) {
      const HoldSeen& one = seen.holds[below(seen.holds.size())];
      last_ = {one.attempt, std::to_string(one.number)};
    }
    if (last_.first.empty()) last_.first = attempt();
    return last_;
  }
  std::string owner_of(const std::string& of_key) {
    return below(4) == 0 ? attempt() : pair_.model().lock(of_key).attempt;
  }
  /// The hold that a forced release names, or a stale one.
  std::string which() {
    const std::string number = hold(key()).second;
    return below(4) == 0 ? "-" + number + " 8d4c:77" : number;
  }

  void call(const mortise::redis::Script& script, Words arguments,
            const std::string& other_key = {}) {
    const bool both = mode_ == "redisson" && other_key.empty();
    const bool whole = !loaded_.contains(std::string(script.sha)) || below(30) == 0;
    if (whole && !no_memory_) loaded_.insert(std::string(script.sha));
    Words words{whole ? "EVAL" : "EVALSHA", std::string(whole ? script.text : script.sha),
                both ? "2" : "1", other_key.empty() ? key() : other_key};
    if (both) words.push_back(name_);
    words.insert(words.end(), arguments.begin(), arguments.end());
    pair_.say(std::move(words));
  }

  /// The arguments of acquire.lua, and of release.lua for a successor.
  Words request() {
    const bool reads = mode_ != "redisson" && below(2) == 0;
    const std::string its_lease = lease();
    Words words{attempt(), moment(), its_lease, std::to_string(std::stoll(its_lease) + life_),
                label()};
    std::string flags = reads ? "r " : mode_ == "redisson" ? "x " : "w ";
    flags += mode_ + (below(4) == 0 ? " try" : " wait");
    if (below(12) == 0) {
      flags += " importing";
    } else if (mode_ == "redisson" && below(2) == 0) {
      flags += " listening";
    }
    words.push_back(std::move(flags));
    // Beside its own hold, perhaps.
    if (reads && below(3) == 0) words.push_back(owner_of(key()));
    return words;
  }
  std::string life() { return std::to_string(2'000 + life_); }

  void acquire() {
    if (below(8) != 0) return call(shipped::acquire, request());
    Words words{attempt(), moment(),      lease(), "3630000",
                label(),   "r fair wait", "",      std::to_string(1 + below(3))};
    call(shipped::acquire, std::move(words), key() + "#");
  }
  void ask() {
    static constexpr std::array<char, 3> kinds{'w', 'r', 'x'};
    call(shipped::ask, {std::string(1, kinds[below(kinds.size())]) + attempt()}, key());
  }
  void cancel() { call(shipped::cancel, {attempt(), life()}); }
  void look() {
    if (below(2) == 0) return call(shipped::inspect, {below(8) == 0 ? "write" : ""});
    call(shipped::queue, {std::to_string(1 + below(9)), below(2) == 0 ? "" : which()});
  }
  void release() {
    const auto [whose, number] = hold(key());
    Words words{whose, number, life(), mode_ + (below(2) == 0 ? " listening" : "")};
    if (below(3) == 0) {
      Words next = request();
      words.insert(words.end(), next.begin(), next.end());
    }
    call(shipped::release, std::move(words));
  }
  void renew() {
    Words words{"EVAL", std::string(shipped::renew.text)};
    const std::size_t locks = 1 + below(3);
    words.push_back(std::to_string(mode_ == "redisson" ? locks * 2 : locks));
    Words arguments{mode_ == "redisson" ? "redisson" : ""};
    for (std::size_t i = 0; i < locks; ++i) {
      const std::string name = "lock " + std::to_string(i);
      words.push_back("mortise:{" + name + "}");
      if (mode_ == "redisson") words.push_back(name);
      const auto [whose, number] = hold("mortise:{" + name + "}");
      const std::string its_lease = lease();
      arguments.insert(arguments.end(),
                       {whose, number, its_lease, std::to_string(std::stoll(its_lease) + life_)});
    }
    words.insert(words.end(), arguments.begin(), arguments.end());
    pair_.say(std::move(words));
  }

  void vote() {
    const std::string key = "quorum:{" + name_ + "}";
    const std::string number = std::to_string(1'700'000'000'000'000 + below(20) * 1'000'000);
    const bool reads = below(2) == 0;
    const std::string which = below(3) == 0 ? "" : number_of_vote(key);
    switch (below(9)) {
      case 0: return call(votes::settle, {voter(key), epoch(), number}, key);
      case 1: {
        const auto& script = reads ? votes::share : votes::acquire;
        return call(script, {voter(key), epoch(), moment(), lease(), which + "1", "", "hold"}, key);
      }
      case 2: return call(votes::inspect, {below(2) == 0 ? "" : "who"}, key);
      case 3:
      case 4: {
        const std::string forced = below(8) == 0 ? "5000" : "";
        return call(votes::release, {voter(key), which, epoch(), coin(), forced}, key);
      }
      case 5: return call(votes::renew, {voter(key), number_of_vote(key), lease()}, key);
      default: break;
    }
    Words words{
        attempt(), epoch(), moment(), lease(), number, label(), coin() + std::to_string(below(3))};
    if (reads) words.push_back(below(2) == 0 ? voter(key) : "");
    call(reads ? votes::share : votes::acquire, std::move(words), key);
  }
  /// A request that comes in time, as a rule.
  std::string moment() { return below(8) == 0 ? "1700000000000000" : "9000000000000000"; }
  /// Whose attempt has the vote, perhaps.
  std::string voter(const std::string& key) {
    const LockSeen seen = pair_.model().lock(key);
    if (below(5) == 0) return attempt();
    if (!seen.holds.empty()) return seen.holds[below(seen.holds.size())].attempt;
    return seen.attempt.empty() ? attempt() : seen.attempt;
  }
  std::string number_of_vote(const std::string& key) {
    const LockSeen seen = pair_.model().lock(key);
    if (!seen.holds.empty()) return std::to_string(seen.holds[below(seen.holds.size())].number);
    return std::to_string(seen.number);
  }

  std::string keep() { return below(2) == 0 ? "86400000" : "1000"; }
  // The record of a key of `Once`, under the name of the lock.
  void ask_for_a_key() {
    const std::string at = key() + "!";
    const LockSeen seen = pair_.model().lock(at);
    const std::string number = std::to_string(seen.number);
    const std::string whose = below(4) == 0 || seen.attempt.empty() ? attempt() : seen.attempt;
    switch (below(10)) {
      case 0: return call(shipped::once::recall, {""}, at);
      case 1: return call(shipped::once::recall, {number}, at);
      case 2: return call(shipped::once::cancel, {attempt()}, at);
      case 3: return call(shipped::once::queue, {below(2) == 0 ? "0" : "5"}, at);
      case 4: return call(shipped::once::force_release, {number}, at);
      case 5:
      case 6: {
        static const std::array<std::string, 3> letters{"", "Y", "F"};
        return call(shipped::once::conclude,
                    {whose, number, letters[below(letters.size())], keep(), label(), "3600000"},
                    at);
      }
      default: break;
    }
    static const std::array<std::string, 4> repeats{"f", "f", "n", "a"};
    static const std::array<std::string, 4> prints{"", "", "x", std::string("\0\n", 2)};
    call(shipped::once::begin,
         {attempt(), moment(), lease(), label(), repeats[below(repeats.size())], keep(),
          prints[below(prints.size())], below(2) == 0 ? "wait" : "try", below(5) == 0 ? number : "",
          "3600000"},
         at);
  }

  // A client begins to listen to its inbox, or ends; on connections of their own.
  void listen() {
    const auto client = static_cast<int>(below(clients));
    const std::string prefix = below(4) == 0 ? "quorum:" : "mortise:";
    pair_.say({below(3) == 0 ? "UNSUBSCRIBE" : "SUBSCRIBE",
               prefix + "inbox:" + std::string(16, static_cast<char>('a' + client))},
              2 + client);
  }

  // Strangers: Redisson, an administrator, other software.
  void meddle() {
    switch (below(7)) {
      case 6: {
        static constexpr std::array<const char*, 4> parts{":queue", ":waiters", ":readers",
                                                          ":reader_info"};
        return pair_.say({"DEL", key() + parts[below(parts.size())]});
      }
      case 0: return pair_.say({"DEL", key()});
      case 1: return pair_.say({"SET", key(), "a stranger's", "PX", "700"});
      case 2: return pair_.say({"HSET", name_, "8d4c:77", "1"});
      case 3: return pair_.say({"PEXPIRE", name_, "1500"});
      case 4: return pair_.say({"DEL", name_});
      default: pair_.say({"SADD", name_, "x"});
    }
  }

  void administrate() {
    if (below(2) == 0) return pair_.say({"CLIENT", "SETNAME", "mortise"});
    no_memory_ = !no_memory_ && below(3) == 0;
    pair_.refuse_memory(no_memory_);
  }

  void forget_scripts() {
    if (below(4) != 0) return;
    pair_.say({"SCRIPT", "FLUSH"});
    if (below(2) == 0) loaded_.clear();  // otherwise they are missed: NOSCRIPT
  }

  std::mt19937_64 luck_;
  Pair& pair_;
  std::vector<std::string> attempts_;
  std::set<std::string> loaded_;
  std::string mode_ = "fair";
  int life_ = 3'600'000;  // ms
  std::string name_ = "lock 0";
  std::pair<std::string, std::string> last_{};  // a hold: a repeated one comes late
  bool no_memory_ = false;
};

void compare_scripts(std::size_t rounds) {
  const std::uint64_t seed = mortise::model::test_seed();
  SCOPED_TRACE("MORTISE_SEED=" + std::to_string(seed));
  Pair pair;
  Callers callers(seed, pair);
  for (std::size_t round = 0; round < rounds && !testing::Test::HasFailure(); ++round) {
    for (int i = 0; i < 6; ++i) {
      callers.choose();
      const std::size_t calls = 1 + callers.below(4);
      for (std::size_t j = 0; j < calls; ++j) callers.act();
      pair.exchange();
    }
    for (int connection = 2; connection < 6; ++connection) pair.compare_connection(connection);
    if (round % 4 == 0) pair.compare_keys();
    constexpr std::array<int, 6> pauses{0, 1, 40, 700, 2100, 6000};  // ms
    pair.pass(std::chrono::milliseconds(pauses[callers.below(pauses.size())]) +
              std::chrono::microseconds(callers.below(1000)));
  }
  pair.refuse_memory(false);
  pair.compare_keys();
  std::cout << pair.commands() << " commands compared\n";
}

TEST(RedisScripts, AnswerAsOnARealServer) {
  MORTISE_NEEDS_REDIS_SERVER();
  compare_scripts(250);
}

TEST(RedisScriptsLong, AnswerAsOnARealServer) {
  MORTISE_NEEDS_REDIS_SERVER();
  compare_scripts(8000);
}

}  // namespace
}  // namespace simulation::redis
