// SPDX-License-Identifier: MIT
// Goal: two masters of a cluster in the model answer as two real ones do, while a slot moves from
// one to the other: MOVED, ASK, TRYAGAIN, and sharded channels that end where their slot leaves.
// Method: one script for both, line by line; ports and names of nodes are left out.
#include "simulation/redis/beside/servers.hpp"
#include "support/needs.hpp"
#include "support/redis_cluster.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <regex>
#include <string>
#include <vector>

namespace simulation::redis {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t from = 0;
constexpr std::size_t to = 1;
/// Slot 5061: of the first of two masters.
constexpr const char* slot = "5061";
constexpr const char* one_key = "{bar}one";
constexpr const char* other_key = "{bar}other";
constexpr const char* channel = "{bar}channel";

class Two {
 public:
  virtual ~Two() = default;
  virtual Servers& servers() = 0;
  virtual void move_key(const std::string& key) = 0;
  [[nodiscard]] virtual std::string id(std::size_t server) = 0;
};

class RealTwo final : public Two, public RealServers {
 public:
  Servers& servers() override { return *this; }
  void move_key(const std::string& key) override {
    auto talk = real_.talk(from);
    const auto moved =
        talk.expect_ok({"MIGRATE", "127.0.0.1", std::to_string(port(to)), key, "0", "5000"});
    EXPECT_EQ(moved.text, "OK");
  }
  [[nodiscard]] std::string id(std::size_t server) override {
    return real_.talk(server).expect_ok({"CLUSTER", "MYID"}).text;
  }
  void halt(std::size_t server, bool yes) override {
    yes ? real_[server].stop() : real_[server].resume();
  }
  [[nodiscard]] std::uint16_t port(std::size_t server) const override {
    return const_cast<mortise::test::RedisCluster&>(real_)[server].port();
  }
  [[nodiscard]] std::size_t size() const override { return real_.size(); }

 private:
  mortise::test::RedisCluster real_{{.masters = 2, .replicas = 0}};
};

class ModelTwo final : public Two {
 public:
  ModelTwo() {
    std::vector<Slots::Member> members;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      members.push_back({&all_[i], "127.0.0.1", all_.port(i)});
    }
    for (std::size_t i = 0; i < all_.size(); ++i) {
      all_[i].slots().join(members, i,
                           [this](std::size_t one, std::size_t other, std::function<void()> then) {
                             all_.carry(one, other, std::move(then));
                           });
    }
  }
  Servers& servers() override { return all_; }
  void move_key(const std::string& key) override {
    EXPECT_EQ(all_[from].move_key(key, all_[to]), true);
  }
  [[nodiscard]] std::string id(std::size_t server) override { return Slots::id_of(server); }

 private:
  ModelServers all_{2, {.cluster = true}};
};

class Script {
 public:
  explicit Script(Two& two) : two_(two), servers_(two.servers()) {}

  std::vector<std::string> play() {
    who_has_what();
    nothing_moves();
    half_way();
    all_has_gone();
    the_slot_goes();
    back_again();
    return std::move(lines_);
  }

 private:
  void note(const std::string& what, std::string answer) {
    for (const std::size_t server : {from, to}) {
      const std::string id = two_.id(server);
      for (std::size_t at = 0; (at = answer.find(id, at)) != std::string::npos;) {
        answer.replace(at, id.size(), "id-" + std::to_string(server));
      }
    }
    lines_.push_back(what + " -> " + answer);
  }
  void ask(std::size_t server, int connection, const Words& words) {
    std::string all;
    for (const std::string& word : words) all += " " + (word.size() == 40 ? "id" : word);
    note(std::to_string(server) + "/" + std::to_string(connection) + all,
         servers_.ask(server, connection, words));
  }
  void hear(std::size_t server, int connection, std::chrono::milliseconds within = 10s) {
    note(std::to_string(server) + "/" + std::to_string(connection),
         servers_.hear(server, connection, within));
  }
  void both(const Words& words) {
    for (const std::size_t server : {from, to}) ask(server, 1, words);
  }
  void who_has_what() {
    both({"CLUSTER", "SLOTS"});
    both({"CLUSTER", "KEYSLOT", one_key});
    ask(from, 1, {"CLUSTER", "KEYSLOT", "{}bar"});
    ask(from, 1, {"CLUSTER", "KEYSLOT", "{bar"});
    ask(from, 1, {"CLUSTER", "KEYSLOT", "foo{{bar}}zap"});
    ask(from, 1, {"CLUSTER", "COUNTKEYSINSLOT", slot});
    ask(from, 1, {"CLUSTER", "SETSLOT", slot, "IMPORTING", two_.id(to)});
    ask(to, 1, {"CLUSTER", "SETSLOT", slot, "MIGRATING", two_.id(from)});
    ask(to, 1, {"CLUSTER", "SETSLOT", slot, "IMPORTING", std::string(40, '7')});
    ask(to, 1, {"CLUSTER", "SETSLOT", "16384", "IMPORTING", two_.id(from)});
  }
  // Of both kinds of request, at both.
  void requests() {
    both({"GET", one_key});
    both({"SET", other_key, "x"});
    both({"EXISTS", one_key, other_key});
    both({"EXISTS", one_key, one_key});
    both({"EVAL", "return redis.call('EXISTS', KEYS[1])", "1", one_key});
    both({"EVAL", "return redis.call('HSET', KEYS[1], 'f', '1')", "1", "{bar}hash"});
    both({"EVAL", "return 1", "2", one_key, other_key});
    both({"EVAL", "return 1", "2", one_key, "elsewhere"});
    both({"EVAL", "return 1", "0"});
    both({"EVAL", "return redis.call('SPUBLISH', ARGV[1], 'x')", "1", one_key, channel});
    both({"PUBLISH", "{bar}plain", "x"});
    both({"SPUBLISH", channel, "x"});
    both({"DEL", other_key, "{bar}hash"});
    both({"PING"});
    for (const std::size_t server : {from, to}) {
      ask(server, 1, {"ASKING"});
      ask(server, 1, {"GET", one_key});
      ask(server, 1, {"GET", one_key});  // for one command
      ask(server, 1, {"ASKING"});
      ask(server, 1, {"EXISTS", one_key, "{bar}none"});
      ask(server, 1, {"ASKING"});
      ask(server, 1, {"PING"});
      ask(server, 1, {"GET", one_key});
    }
  }
  void nothing_moves() {
    ask(from, 1, {"SET", one_key, "1", "PX", "100000"});
    requests();
    ask(from, 2, {"SSUBSCRIBE", channel});
    ask(to, 2, {"SSUBSCRIBE", channel});
    ask(from, 2, {"SSUBSCRIBE", channel, "elsewhere"});
    ask(from, 2, {"SUBSCRIBE", "plain"});
    ask(to, 3, {"SUBSCRIBE", "plain"});
    ask(from, 2, {"GET", one_key});
    ask(from, 2, {"SUNSUBSCRIBE", "{bar}none"});
    ask(from, 1, {"PUBSUB", "SHARDNUMSUB", channel});
    ask(from, 1, {"SPUBLISH", channel, "heard"});
    hear(from, 2);
    ask(to, 1, {"PUBLISH", "plain", "everywhere"});
    hear(from, 2);
    hear(to, 3);
  }
  void half_way() {
    ask(to, 1, {"CLUSTER", "SETSLOT", slot, "IMPORTING", two_.id(from)});
    ask(from, 1, {"CLUSTER", "SETSLOT", slot, "MIGRATING", two_.id(to)});
    requests();
    hear(from, 2);  // of requests(), at the old one
    hear(from, 2);
    ask(from, 1, {"SET", one_key, "2"});
    ask(from, 1, {"CLUSTER", "SETSLOT", slot, "NODE", two_.id(to)});
    ask(from, 1, {"SPUBLISH", channel, "still heard"});
    hear(from, 2);
    ask(to, 4, {"ASKING"});
    ask(to, 4, {"SSUBSCRIBE", channel});  // a channel is not asked for
    ask(to, 4, {"SUNSUBSCRIBE", channel});
  }
  void all_has_gone() {
    two_.move_key(one_key);
    ask(from, 1, {"CLUSTER", "COUNTKEYSINSLOT", slot});
    ask(to, 1, {"CLUSTER", "COUNTKEYSINSLOT", slot});
    requests();
    hear(from, 2, 100ms);
    hear(from, 2, 100ms);
  }
  void the_slot_goes() {
    ask(to, 1, {"CLUSTER", "SETSLOT", slot, "NODE", two_.id(to)});
    ask(from, 1, {"CLUSTER", "SETSLOT", slot, "NODE", two_.id(to)});
    hear(from, 2);  // sunsubscribe, for which nobody has asked
    hear(from, 2, 100ms);
    const auto told = [](const std::string& ranges) {
      return ranges.find("5060") != std::string::npos;
    };
    EXPECT_TRUE(servers_.comes_to_answer(from, {"CLUSTER", "SLOTS"}, told));
    both({"CLUSTER", "SLOTS"});
    requests();
    ask(from, 1, {"PUBSUB", "SHARDNUMSUB", channel});
    ask(from, 2, {"SSUBSCRIBE", channel});
    ask(to, 2, {"SSUBSCRIBE", channel});
    ask(from, 2, {"PING"});  // it listens to a plain channel still
  }
  // Now the old master learns it from the new one.
  void back_again() {
    ask(from, 1, {"CLUSTER", "SETSLOT", slot, "IMPORTING", two_.id(to)});
    ask(to, 1, {"CLUSTER", "SETSLOT", slot, "MIGRATING", two_.id(from)});
    ask(to, 1, {"DEL", one_key});
    ask(from, 1, {"CLUSTER", "SETSLOT", slot, "NODE", two_.id(from)});
    hear(to, 2);
    ask(to, 2, {"GET", one_key});  // it listens to nothing any more
  }

  Two& two_;
  Servers& servers_;
  std::vector<std::string> lines_;
};

TEST(RedisSlotsBeside, MastersBetweenWhichASlotMovesAnswerAlike) {
  MORTISE_NEEDS_REDIS_SERVER();
  RealTwo real;
  ModelTwo model;
  const std::vector<std::string> expected = Script(real).play();
  const std::vector<std::string> answered = Script(model).play();
  EXPECT_EQ(answered, expected);
  RecordProperty("lines", std::to_string(expected.size()));
}

}  // namespace
}  // namespace simulation::redis
