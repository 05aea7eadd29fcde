// SPDX-License-Identifier: MIT
// One Redis server, or the independent masters of a quorum.
#include <mortise/redis.hpp>
#include <mortise/redlock.hpp>

#include "simulation/redis/redis_server.hpp"
#include "simulation/scene/stands.hpp"

#include <cstdlib>
#include <string_view>
#include <vector>

namespace simulation {
namespace {

class RedisStand final : public Stand {
 public:
  RedisStand(const Plan& plan, Room& room, std::size_t servers, std::string_view mistake)
      : room_(room), quorum_(servers > 1) {
    for (std::size_t i = 0; i < servers; ++i) {
      Host& host = room.network.host("redis " + std::to_string(i + 1));
      servers_.push_back(std::make_unique<redis::RedisModel>(host));
      servers_.back()->count_instructions(100);
      servers_.back()->make_mistake(mistake);
      host.serve(*servers_.back());
    }
    Random random = Random::of({plan.seed, 41});
    if (quorum_) return;
    // Now and then clients of different configurations share the names.
    const std::uint64_t drawn = random.below(10);
    modes_ = drawn < 5   ? std::vector<std::string>{""}
             : drawn < 7 ? std::vector<std::string>{"?fair=no"}
             : drawn < 9 ? std::vector<std::string>{"?interop=redisson"}
                         : std::vector<std::string>{"", "?interop=redisson", "?fair=no"};
    if (std::getenv("MORTISE_SIMULATION_ONE_MODE") != nullptr) modes_.resize(1);
    const bool interop = modes_ == std::vector<std::string>{"?interop=redisson"};
    if (interop) strangers_ = random.below(3);
  }
  [[nodiscard]] std::unique_ptr<mortise::Backend> backend(std::size_t client) override {
    if (!quorum_) {
      return mortise::redis::backend("redis://10.0.0.1" + modes_[client % modes_.size()]);
    }
    std::string url = "redlock://";
    for (std::size_t i = 0; i < servers_.size(); ++i) {
      url += (i == 0 ? "10.0.0." : ",10.0.0.") + std::to_string(i + 1);
    }
    return mortise::redlock::backend(url);
  }
  std::string special(std::uint64_t which, Random& random, Nanos length) override {
    redis::RedisModel& server = *servers_[random.below(servers_.size())];
    const auto after = [&](auto act) { room_.world.after(length, act); };
    switch (which) {
      case 0: server.flush_scripts(); return "the scripts are forgotten";
      case 1:
        server.refuse_memory(true);
        after([&server] { server.refuse_memory(false); });
        return "the server has no memory";
      case 2:
        server.set_loading(true);
        after([&server] { server.set_loading(false); });
        return "the server loads";
      case 3:
        server.set_busy(true);
        after([&server] { server.set_busy(false); });
        return "a script does not end";
      default:
        server.refuse_writes(true);
        after([&server] { server.refuse_writes(false); });
        return "the disk is full";
    }
  }
  void calm() override {
    for (const auto& server : servers_) {
      server->refuse_memory(false);
      server->set_loading(false);
      server->set_busy(false);
      server->refuse_writes(false);
    }
  }
  [[nodiscard]] Nanos longest_hold_of_the_dead(const Plan& plan) const override {
    // A claim for each waiter that died with its holder.
    return plan.lease + std::chrono::seconds(2) * static_cast<int>(plan.clients);
  }
  [[nodiscard]] std::uint64_t work() const override {
    std::uint64_t all = 0;
    for (const auto& server : servers_) {
      all += server->counters().commands_of_scripts + server->counters().instructions / 25;
    }
    return all;
  }
  [[nodiscard]] std::uint64_t requests() const override {
    std::uint64_t all = 0;
    for (const auto& server : servers_) all += server->counters().commands;
    return all;
  }
  [[nodiscard]] std::size_t strangers() const override { return strangers_; }
  [[nodiscard]] Nanos hand_over() const override {
    using namespace std::chrono_literals;
    // A quorum hands nothing over, and Redisson's waiters have their turns in between.
    const bool push = !quorum_ && modes_.size() == 1 && modes_.front() != "?interop=redisson";
    return push ? Nanos(100ms) : Nanos(1'500ms);
  }
  [[nodiscard]] std::string leftovers(const std::vector<std::string>& names) override {
    for (const auto& server : servers_) {
      for (const std::string& name : names) {
        const std::string key = (quorum_ ? "mortise:{" : "mortise:{") + name + "}";
        constexpr std::size_t of_a_free_lock = 330;
        const std::size_t bytes = server->bytes_of(key);
        if (bytes > of_a_free_lock) {
          return name + " takes " + std::to_string(bytes) + " bytes: " + server->look(key) +
                 fields_of(*server, key);
        }
      }
    }
    return {};
  }

 private:
  static std::string fields_of(redis::RedisModel& server, const std::string& key);
  Room& room_;
  const bool quorum_;
  std::vector<std::unique_ptr<redis::RedisModel>> servers_;
  std::vector<std::string> modes_;
  std::size_t strangers_ = 0;
};

std::string RedisStand::fields_of(redis::RedisModel& server, const std::string& key) {
  std::string text;
  const redis::Value* const value = server.value(key);
  const auto* const hash = value == nullptr ? nullptr : std::get_if<redis::HashValue>(&value->data);
  if (hash == nullptr) return text;
  for (const auto& field : hash->fields()) text += " [" + field.first + "=" + field.second + "]";
  return text;
}

}  // namespace

std::unique_ptr<Stand> make_redis_stand(const Plan& plan, Room& room, std::string_view mistake) {
  return std::make_unique<RedisStand>(plan, room, 1, mistake);
}

std::unique_ptr<Stand> make_redlock_stand(const Plan& plan, Room& room, std::string_view mistake) {
  return std::make_unique<RedisStand>(plan, room, 3 + plan.seed % 3, mistake);
}

}  // namespace simulation
