// SPDX-License-Identifier: MIT
// Goal: while a master and its replica change places again and again, by order, by a kill and by
// standing still, nobody holds beside another, if the replica has what is told; and everybody is
// served when it is over. Method: the suite of histories on a pair under sentinels.
#include <mortise/redis.hpp>

#include "model/history_suite.hpp"
#include "support/eventually.hpp"
#include "support/redis_sentinels.hpp"

#include <chrono>
#include <memory>
#include <stdexcept>

namespace mortise::model {
namespace {

using namespace std::chrono_literals;

class SentinelHistoryStore final : public contract::Store {
 public:
  [[nodiscard]] std::unique_ptr<Backend> backend() override {
    return redis::backend(servers_.url("replicas=1"));
  }
  [[nodiscard]] test::RedisSentinels& servers() noexcept { return servers_; }
  // Before the next one: whoever loses both loses what they had.
  void heal() {
    if (!test::eventually([this] { return servers_.is_whole(); }, 30s)) {
      throw std::runtime_error("the pair does not come together:\n" + servers_.sentinel(0).log());
    }
  }

 private:
  test::RedisSentinels servers_{{.replicas = 1}};
};

SentinelHistoryStore& store_of(Stage& stage) {
  return static_cast<SentinelHistoryStore&>(*stage.store);
}

void change_places(Stage& stage, Dice& /*dice*/) {
  store_of(stage).servers().fail_over();
  store_of(stage).heal();
}

void kill_master(Stage& stage, Dice& /*dice*/) {
  test::RedisSentinels& servers = store_of(stage).servers();
  const std::size_t master = servers.master().value();
  servers[master].kill();
  static_cast<void>(servers.comes_to_another(master));
  servers[master].start();
  store_of(stage).heal();
}

void stop_master_behind_sentinels(Stage& stage, Dice& /*dice*/) {
  test::RedisSentinels& servers = store_of(stage).servers();
  const std::size_t master = servers.master().value();
  servers[master].stop();
  static_cast<void>(servers.comes_to_another(master));
  servers[master].resume();
  store_of(stage).heal();
}

void kill_sentinel(Stage& stage, Dice& dice) {
  test::RedisServer& one = store_of(stage).servers().sentinel(dice.below(3));
  one.kill();
  stage.time.sleep(dice.between(0ms, 500ms));
  one.start();
}

HistoryBackend sentinel_pair() {
  using contract::Quality;
  return {.under_test = {.name = "sentinel",
                         .open =
                             [](const std::shared_ptr<Clock>&) {
                               return std::make_unique<SentinelHistoryStore>();
                             },
                         .hooks = {contract::Hook::processes},
                         .qualities = {Quality::leases},
                         .missing = test::RedisServer::missing,
                         .short_lease = 1500ms,
                         .answers_at_once = false},
          .disturbances = {{.name = "places changed", .bring_about = change_places},
                           {.name = "master killed", .bring_about = kill_master},
                           {.name = "master stopped", .bring_about = stop_master_behind_sentinels},
                           {.name = "sentinel killed", .bring_about = kill_sentinel}},
          .oversleeps = 0.003,
          .long_holds = 0.02,
          .fewest_grants_a_second = 2};
}

}  // namespace

MORTISE_HISTORIES_OF(RedisSentinelPair, LongHistories, sentinel_pair());

}  // namespace mortise::model
