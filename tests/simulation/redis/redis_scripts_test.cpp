// SPDX-License-Identifier: MIT
// The model beside a real redis-server: the shipped scripts of both backends, called as clients,
// late copies and strangers might, with the same answers, pushes and keys to the byte.
#include "model/seed.hpp"
#include "redis/scripts.hpp"
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
      case 7: call(shipped::inspect, {"", mode_ + life_}); break;
      case 8:
        if (below(3) == 0) call(shipped::force_release, {"", mode_ + life_, last_grant(), "1"});
        break;
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

  /// Which of the modes f, u and r the next calls have, how long the lock is remembered, and which
  /// it is.
  void choose() {
    constexpr std::array<std::string_view, 4> modes{"f", "f", "u", "r"};
    constexpr std::array<std::string_view, 4> lives{"", "", ".60", ".7200"};
    mode_ = modes[below(modes.size())];
    life_ = lives[below(lives.size())];
    name_ = "lock " + std::to_string(below(3));
  }

 private:
  static constexpr int clients = 4;

  const std::string& attempt() { return attempts_[below(attempts_.size())]; }
  std::string flag() { return below(10) == 0 ? "1" : "0"; }
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
  /// The owner and its number, as the hash has them; or something stale.
  std::string hold(const std::string& of_key) {
    const std::optional<std::string> owner = pair_.model().field(of_key, "o");
    const LockSeen seen = pair_.model().lock(of_key);
    if (seen.read && !seen.holds.empty() && below(5) != 0) {
      const HoldSeen& one = seen.holds[below(seen.holds.size())];
      last_of_readers_ = written(one.number) + " " + one.attempt + " ";
      return last_of_readers_;
    }
    if (!last_of_readers_.empty() && below(8) == 0) return last_of_readers_;
    if (owner && below(5) != 0) {
      return owner->substr(0, owner->find(' ', owner->find(' ') + 1) + 1);
    }
    return attempt() + " " + std::to_string(1'700'000'000'000'000 + below(3));
  }
  std::string owner_of(const std::string& of_key) {
    return below(4) == 0 ? attempt() : pair_.model().lock(of_key).attempt;
  }
  /// As scripts/lock.lua writes a number.
  static std::string written(std::uint64_t number) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%08llx%05llx",
                  static_cast<unsigned long long>(number / 1'000'000),
                  static_cast<unsigned long long>(number % 1'000'000));
    return text.data();
  }
  /// What a release by force says of whom it is about; or something stale.
  std::string last_grant() {
    if (below(2) == 0) return std::to_string(pair_.model().lock(key()).number);
    const std::string owner = hold(key());
    return (below(3) == 0 ? "-" : "") + owner.substr(owner.find(' ') + 1);
  }

  void call(const mortise::redis::Script& script, Words arguments,
            const std::string& other_key = {}) {
    const bool both = mode_ == "r" && other_key.empty();
    const bool whole = !loaded_.contains(std::string(script.sha)) || below(30) == 0;
    if (whole && !no_memory_) loaded_.insert(std::string(script.sha));
    Words words{whole ? "EVAL" : "EVALSHA", std::string(whole ? script.text : script.sha),
                both ? "2" : "1", other_key.empty() ? key() : other_key};
    if (both) words.push_back(name_);
    words.insert(words.end(), arguments.begin(), arguments.end());
    pair_.say(std::move(words));
  }

  void acquire() {
    const bool reads = mode_ != "r" && below(2) == 0;
    Words words{attempt(),
                mode_ + flag() + (below(4) == 0 ? "0" : "1") +
                    (mode_ == "r" ? flag() : (reads ? "s" : "")) + life_,
                epoch(), lease(), label()};
    // Beside its own hold, perhaps.
    if (reads && below(3) == 0) words.push_back(owner_of(key()));
    call(shipped::acquire, std::move(words));
  }
  void cancel() { call(shipped::cancel, {attempt(), mode_ + flag() + life_, epoch()}); }
  void release() {
    Words words{hold(key()), mode_ + flag(), epoch()};
    if (below(3) == 0) {
      const bool reads = mode_ != "r" && below(2) == 0;
      words[1] += flag() + flag() + (reads ? "s" : "");
      words.insert(words.end(), {attempt(), lease(), label()});
      if (reads && below(3) == 0) words.push_back(owner_of(key()));
    }
    words[1] += life_;
    call(shipped::release, std::move(words));
  }
  void renew() {
    Words words{"EVAL", std::string(shipped::renew.text)};
    const std::size_t locks = 1 + below(3);
    words.push_back(std::to_string(mode_ == "r" ? locks * 2 : locks));
    Words arguments{"", mode_ + life_};
    for (std::size_t i = 0; i < locks; ++i) {
      const std::string name = "lock " + std::to_string(i);
      words.push_back("mortise:{" + name + "}");
      if (mode_ == "r") words.push_back(name);
      arguments.insert(arguments.end(), {hold("mortise:{" + name + "}"), lease()});
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

  std::string asked() {
    static const std::array<std::string, 5> keeps{"f1000", "f86400000", "n86400000", "a86400000",
                                                  "a5000"};
    static const std::array<std::string, 4> prints{" 0 ", " 0 ", " 1 x", std::string(" 2 \0\n", 5)};
    return keeps[below(keeps.size())] + prints[below(prints.size())] + label();
  }
  // What is remembered of a key of `Once`, under the name of the lock.
  void ask_for_a_key() {
    const std::string at = key() + "!";
    const std::string mode = mode_ == "r" ? "f" : mode_;
    const std::string number = std::to_string(pair_.model().lock(at).number);
    switch (below(8)) {
      case 0: return call(shipped::once::recall, {"", mode + life_}, at);
      case 1: return call(shipped::once::recall, {"", mode + life_, number}, at);
      case 2: return call(shipped::once::cancel, {attempt(), mode + flag() + life_, epoch()}, at);
      case 3:
      case 4: {
        static const std::array<std::string, 3> letters{"", "Y", "F"};
        const std::string letter = letters[below(letters.size())];
        Words words{hold(at), mode + flag() + letter + life_, epoch()};
        if (!letter.empty()) words.insert(words.end(), {"5000", label()});
        return call(shipped::once::conclude, std::move(words), at);
      }
      default: break;
    }
    Words words{attempt(), mode + flag() + coin() + life_, epoch(), lease(), asked()};
    if (below(5) == 0) words.push_back(number);
    call(shipped::once::begin, std::move(words), at);
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
    switch (below(6)) {
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
  std::string mode_ = "f";
  std::string life_;
  std::string name_ = "lock 0";
  std::string last_of_readers_;  // a hold: what is said again comes late
  bool no_memory_ = false;
};

void run(std::size_t rounds) {
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
  run(250);
}

TEST(RedisScriptsLong, AnswerAsOnARealServer) {
  MORTISE_NEEDS_REDIS_SERVER();
  run(8000);
}

}  // namespace
}  // namespace simulation::redis
