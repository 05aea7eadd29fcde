// SPDX-License-Identifier: MIT
// A Redis Cluster of three masters, whose slots move while what is in them is held and waited for.
// Nothing is lost by that, so all is judged as with one server.
#include <mortise/redis.hpp>

#include "simulation/redis/redis_server.hpp"
#include "simulation/scene/bounds.hpp"
#include "simulation/scene/redis_copy_elsewhere.hpp"
#include "simulation/scene/redis_key.hpp"
#include "simulation/scene/redis_leftovers.hpp"
#include "simulation/scene/redis_shards.hpp"
#include "simulation/scene/redis_slot_on_its_way.hpp"
#include "simulation/scene/stands.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

namespace simulation {
namespace {

constexpr std::uint64_t shards_stream = 61;
constexpr std::size_t masters = 3;

class RedisClusterStand final : public Stand {
 public:
  RedisClusterStand(const Plan& plan, Room& room, std::string_view mistake)
      : room_(room),
        shards_(room, masters, Random::of({plan.seed, shards_stream})),
        names_(plan.names) {
    for (std::size_t i = 0; i < shards_.size(); ++i) shards_.server(i).make_mistake(mistake);
  }
  [[nodiscard]] std::unique_ptr<mortise::Backend> backend(std::size_t /*client*/) override {
    return mortise::redis::backend(shards_.url());
  }
  std::string special(std::uint64_t which, Random& random, Nanos length) override;
  void calm() override { shards_.calm(); }
  // A master that has started refuses everything for two seconds, and the others as long as they
  // do not believe that it is back.
  [[nodiscard]] Nanos recovery() const override { return 2 * shards_.node_timeout() + 7s; }
  [[nodiscard]] Nanos longest_hold_of_the_dead(const Plan& plan) const override {
    return plan.lease + std::chrono::seconds(2) * static_cast<int>(plan.clients);
  }
  [[nodiscard]] Nanos lease_of_the_dead(const Plan& plan) const override { return plan.lease; }
  [[nodiscard]] bool tells_truth() const override { return true; }
  [[nodiscard]] bool remembers() const override { return true; }
  [[nodiscard]] std::optional<Truth> truth(std::size_t name) const override {
    return truth_of(name, 0);
  }
  [[nodiscard]] std::optional<Truth> truth_of(std::size_t name,
                                              std::uint64_t number) const override;
  [[nodiscard]] std::uint64_t work() const override {
    const bool first = !std::exchange(counts_, true);
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < shards_.size(); ++i) {
      if (first) shards_.server(i).count_instructions(100);
      const redis::Counters& its = shards_.server(i).counters();
      all += its.commands_of_scripts + its.instructions / 25;
    }
    return all;
  }
  [[nodiscard]] std::uint64_t requests() const override {
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < shards_.size(); ++i) all += shards_.server(i).counters().commands;
    return all;
  }
  void last_trial() override {
    trial_.emplace(room_, *judge, shards_.url(), shards_);
    trial_->come();
    if (judge->verdict()) return;
    copy_elsewhere_.emplace(room_, *judge, shards_.url(), shards_);
    copy_elsewhere_->come();
  }
  [[nodiscard]] std::string leftovers(const std::vector<std::string>& names) override;

 private:
  std::string move(Random& random, RedisShards::Move times);

  Room& room_;
  mutable RedisShards shards_;
  const std::size_t names_;
  std::optional<RedisSlotOnItsWay> trial_;
  std::optional<RedisCopyElsewhere> copy_elsewhere_;
  mutable bool counts_ = false;
};

std::optional<Stand::Truth> RedisClusterStand::truth_of(std::size_t name,
                                                        std::uint64_t number) const {
  const std::size_t place = shards_.place_of(key_of(name));
  const redis::LockSeen seen = shards_.server(place).lock(key_of(name));
  if (!seen.there) return std::nullopt;
  const redis::HoldSeen* const hold = number == 0 ? nullptr : seen.hold(number);
  const Nanos now = shards_.host(place).wall();
  // The record of a reader may be on another server, or overwritten, while the slot moves. Then its
  // lock is held as long as the hash says.
  const auto is_known = [&](const redis::HoldSeen& each) {
    return each.reads && each.number != 0 && each.ends >= seen.shared;
  };
  const bool hidden = std::none_of(seen.holds.begin(), seen.holds.end(), is_known);
  const Nanos left_of_all = std::chrono::microseconds(seen.shared) - now;
  if (hold == nullptr && number != 0 && hidden && left_of_all > Nanos(0)) {
    return Truth{number, left_of_all};
  }
  const bool of_many = seen.read && number != 0;
  const std::int64_t ends = hold != nullptr ? hold->ends : of_many ? 0 : seen.ends;
  const Nanos left = std::chrono::microseconds(ends) - now;
  return Truth{hold != nullptr ? number : seen.number, seen.held && ends != 0 ? left : Nanos(0)};
}

std::string RedisClusterStand::move(Random& random, RedisShards::Move times) {
  const std::string key = key_of(random.below(names_));
  const std::size_t from = shards_.place_of(key);
  const std::size_t to = (from + 1 + random.below(shards_.size() - 1)) % shards_.size();
  const std::uint16_t slot = redis::Slots::slot_of(key);
  return shards_.move(slot, to, times) ? "the slot of " + key + " moves" : "nothing moves";
}

std::string RedisClusterStand::special(std::uint64_t which, Random& random, Nanos length) {
  const Nanos until = room_.world.now() + length;
  const auto a_moment = [&] { return random.spread(10us, 20ms); };
  switch (which) {
    case 0:
      shards_.server(random.below(shards_.size())).flush_scripts();
      return "the scripts of one server are forgotten";
    case 1:
    case 2: {
      const auto part = [&] { return random.between(Nanos(0), length / 4); };
      return move(random, {part(), part(), part(), part()});
    }
    // For most of the time all of it, or nothing, has gone.
    case 3: return move(random, {a_moment(), a_moment(), length, a_moment()});
    case 4: return move(random, {length, a_moment(), a_moment(), a_moment()});
    case 5: return move(random, {a_moment(), a_moment(), a_moment(), length});
    case 6:
    case 7: return move(random, {a_moment(), a_moment(), a_moment(), a_moment()});
    case 8: {
      const std::size_t server = random.below(shards_.size());
      shards_.wire().cut_off(server, until);
      return shards_.host(server).name() + " is cut off from the others";
    }
    default:
      for (std::size_t i = 0; i < shards_.size(); ++i) shards_.wire().hold_up(i, until);
      return "servers hear of nothing new";
  }
}

std::string RedisClusterStand::leftovers(const std::vector<std::string>& names) {
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    std::string left = redis_leftovers(room_, shards_.server(i), names);
    if (!left.empty()) return left;
  }
  return {};
}

}  // namespace

std::unique_ptr<Stand> make_redis_cluster_stand(const Plan& plan, Room& room,
                                                std::string_view mistake) {
  return std::make_unique<RedisClusterStand>(plan, room, mistake);
}

}  // namespace simulation
