// SPDX-License-Identifier: MIT
// Goal: on a Redis Cluster the promises are kept while its masters are replaced and its slots move.
// Method: the suite of histories, long: with client processes that are killed and stopped, and
// fail-overs and moves, of which each loses nothing, every second or so.
#include <mortise/redis.hpp>

#include "model/history_suite.hpp"
#include "redis/store/lock_key.hpp"
#include "support/redis_cluster.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <utility>

namespace mortise::model {
namespace {

using namespace std::chrono_literals;
using contract::Hook;
using contract::Quality;

class ClusterHistoryStore final : public contract::Store {
 public:
  [[nodiscard]] std::unique_ptr<Backend> backend() override {
    return redis::backend(cluster_.url());
  }
  void take_away(const std::string& name) override {
    cluster_.talk(cluster_.master_of(name)).expect_ok({"DEL", redis::lock_key("mortise:", name)});
  }
  [[nodiscard]] test::RedisCluster& cluster() noexcept { return cluster_; }

 private:
  test::RedisCluster cluster_;
};

test::RedisCluster& cluster_of(Stage& stage) {
  return static_cast<ClusterHistoryStore&>(*stage.store).cluster();
}

const std::string& any_name(const Stage& stage, Dice& dice) {
  return stage.names.at(dice.below(static_cast<std::uint32_t>(stage.names.size())));
}

// The replica has all that its master had acknowledged: the master waits for that.
void fail_over(Stage& stage, Dice& dice) {
  test::RedisCluster& cluster = cluster_of(stage);
  cluster.wait_until_settled();
  const std::size_t master = cluster.master_of(any_name(stage, dice));
  cluster.fail_over(cluster.replica_of(master));
  cluster.wait_until_settled();
}

void move_slot(Stage& stage, Dice& dice) {
  test::RedisCluster& cluster = cluster_of(stage);
  const std::string& name = any_name(stage, dice);
  const std::uint16_t slot = cluster.slot_of(name);
  const std::size_t from = cluster.master_of(slot);
  std::size_t to = from;
  while (to == from) to = cluster.master_of(static_cast<std::uint16_t>(dice.below(16384)));
  cluster.begin_move(slot, to);
  stage.time.sleep(dice.between(0ms, 50ms));
  cluster.move_keys(slot, to);
  stage.time.sleep(dice.between(0ms, 300ms));
  // What was made there meanwhile, by whoever was still sent there.
  cluster.move_keys(slot, to);
  cluster.end_move(slot, to);
}

void stop_master(Stage& stage, Dice& dice) {
  test::RedisCluster& cluster = cluster_of(stage);
  const std::size_t master = cluster.master_of(any_name(stage, dice));
  cluster[master].stop();
  stage.time.sleep(dice.between(10ms, 700ms));  // not so long that it is replaced
  cluster[master].resume();
}

HistoryBackend redis_cluster() {
  return {.under_test = {.name = "redis_cluster",
                         .open =
                             [](const std::shared_ptr<Clock>&) {
                               return std::make_unique<ClusterHistoryStore>();
                             },
                         .hooks = {Hook::processes, Hook::take_away},
                         .qualities = {Quality::leases, Quality::once, Quality::shared,
                                       Quality::permits},
                         .missing = test::RedisServer::missing,
                         .answers_at_once = false},
          .disturbances = {{.name = "failed over", .bring_about = fail_over},
                           {.name = "slot moved", .bring_about = move_slot},
                           {.name = "master stopped", .bring_about = stop_master}},
          .oversleeps = 0.01,
          .long_holds = 0.02,
          // While a master is replaced, or stands still, a third of the names is nobody's.
          .fewest_grants_a_second = 5};
}

}  // namespace

MORTISE_HISTORIES_OF(RedisCluster, LongHistories, redis_cluster());

}  // namespace mortise::model
