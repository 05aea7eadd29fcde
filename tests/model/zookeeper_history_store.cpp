// SPDX-License-Identifier: MIT
#include "model/zookeeper_history_store.hpp"

#include <mortise/zookeeper.hpp>

#include "model/seed.hpp"
#include "support/zookeeper_locks.hpp"

#include <chrono>
#include <utility>

namespace mortise::model {
namespace {

using namespace std::chrono_literals;
using contract::Hook;
using test::Proxy;

// The lease of every hold. Elections and restarts fit in now and then, and now and then not.
constexpr std::chrono::milliseconds session{1'200};
constexpr const char* in_short = "session=1200ms&margin=200ms";
constexpr std::chrono::nanoseconds longest_disturbance{250ms};

ZooKeeperHistoryStore& store_of(Stage& stage) {
  return static_cast<ZooKeeperHistoryStore&>(*stage.store);
}

std::size_t any_server(Stage& stage, Dice& dice) {
  return dice.below(static_cast<std::uint32_t>(store_of(stage).servers()));
}

void sleep_a_while(Stage& stage, Dice& dice) {
  stage.time.sleep(dice.between(50ms, longest_disturbance));
}

void kill(Stage& stage, Dice& dice, std::size_t which) {
  ZooKeeperHistoryStore& store = store_of(stage);
  store.server(which).kill();
  if (dice.chance(0.5)) stage.time.sleep(dice.between(0ms, stage.short_lease));
  store.complete();
}

void kill_server(Stage& stage, Dice& dice) { kill(stage, dice, any_server(stage, dice)); }
void kill_leader(Stage& stage, Dice& dice) { kill(stage, dice, store_of(stage).leader()); }

void stop_server(Stage& stage, Dice& dice) {
  ZooKeeperHistoryStore& store = store_of(stage);
  const std::size_t which = any_server(stage, dice);
  store.server(which).stop();
  stage.time.sleep(dice.between(10ms, stage.short_lease * 3 / 2));
  store.complete();
}

void cut_connections(Stage& stage, Dice& dice) {
  for (std::uint32_t left = 1 + dice.below(5); left > 0; --left) {
    store_of(stage).tell([](Proxy& proxy) { proxy.cut_all(); });
    stage.time.sleep(dice.between(0ns, 30ms));
  }
}

void cut_replies(Stage& stage, Dice& dice) {
  for (std::uint32_t left = 1 + dice.below(5); left > 0; --left) {
    store_of(stage).tell([bytes = dice.below(60)](Proxy& proxy) { proxy.cut_reply_after(bytes); });
    stage.time.sleep(dice.between(0ns, 30ms));
  }
}

void cut_at_steps(Stage& stage, Dice& dice) {
  for (std::uint32_t left = 1 + dice.below(5); left > 0; --left) {
    const auto moment = dice.chance(0.5) ? Proxy::Moment::request : Proxy::Moment::reply;
    store_of(stage).tell(
        [nth = 1 + dice.below(6), moment](Proxy& proxy) { proxy.cut_at(nth, moment); });
    stage.time.sleep(dice.between(0ns, 50ms));
  }
}

void drip_replies(Stage& stage, Dice& dice) {
  store_of(stage).tell(
      [interval = dice.between(1us, 300us)](Proxy& proxy) { proxy.drip(interval); });
  sleep_a_while(stage, dice);
  store_of(stage).tell([](Proxy& proxy) { proxy.drip(0ns); });
}

void freeze_connections(Stage& stage, Dice& dice) {
  store_of(stage).tell([](Proxy& proxy) { proxy.freeze(true); });
  sleep_a_while(stage, dice);
  store_of(stage).tell([](Proxy& proxy) { proxy.freeze(false); });
}

void swallow_everything(Stage& stage, Dice& dice) {
  store_of(stage).tell([](Proxy& proxy) { proxy.blackhole(true); });
  stage.time.sleep(dice.between(50ms, stage.short_lease * 3 / 2));
  store_of(stage).tell([](Proxy& proxy) { proxy.blackhole(false); });
}

// Clients give their connections up and ask again on new ones; then what they said first arrives.
void deliver_late(Stage& stage, Dice& dice) {
  store_of(stage).tell([](Proxy& proxy) { proxy.hold_requests(true); });
  sleep_a_while(stage, dice);
  store_of(stage).tell([](Proxy& proxy) { proxy.hold_requests(false); });
}

}  // namespace

ZooKeeperHistoryStore::ZooKeeperHistoryStore(ZooKeeperSize size, std::string parameters)
    : parameters_(std::move(parameters)), root_(test::ZooKeeperServer::fresh_root()) {
  // Servers of their own: what a history does to them lasts.
  if (size == ZooKeeperSize::one_server) {
    alone_.emplace();
  } else {
    ensemble_.emplace();
  }
  const std::size_t count = alone_ ? 1 : test::ZooKeeperEnsemble::size;
  for (std::size_t i = 0; i < count; ++i) {
    networks_.push_back(std::make_unique<const DistantProxy>(server(i).port(), test_seed() + i,
                                                             test::ProxyProtocol::zookeeper));
  }
}

std::unique_ptr<Backend> ZooKeeperHistoryStore::backend() {
  std::string servers;
  for (const auto& network : networks_) {
    servers += (servers.empty() ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(network->port());
  }
  return zookeeper::backend("zookeeper://" + servers + "/" + root_ + "?" + parameters_);
}

bool ZooKeeperHistoryStore::has(Hook hook) const {
  // A stream loses no single message and goes on.
  return hook != Hook::hand_clock && hook != Hook::late_copies && hook != Hook::counts &&
         hook != Hook::lost_pushes;
}

void ZooKeeperHistoryStore::set_reachable(bool reachable) {
  tell([reachable](Proxy& proxy) {
    proxy.refuse(!reachable);
    if (!reachable) proxy.cut_all();
  });
}

void ZooKeeperHistoryStore::restart() {
  server(leader()).kill();
  complete();
}

void ZooKeeperHistoryStore::take_away(const std::string& name) {
  test::ZooKeeperTalk talk = server(leader()).talk();
  const auto queue = test::ZooKeeperLocks("/" + root_).queue(talk, name);
  try {
    if (!queue.empty()) talk.remove(queue.front());
  } catch (const test::ZooKeeperTalkError& error) {
    if (error.code != test::ZooKeeperTalk::no_node) throw;  // its holder was quicker
  }
}

void ZooKeeperHistoryStore::misbehave(const contract::Misbehaviour& how) {
  tell([how](Proxy& proxy) {
    proxy.lose_request(how.lose_request);
    proxy.lose_reply(how.lose_reply);
    proxy.delay(how.delay_min, how.delay_max);
  });
}

test::ZooKeeperServer& ZooKeeperHistoryStore::server(std::size_t which) {
  return alone_ ? *alone_ : ensemble_->server(which);
}

std::size_t ZooKeeperHistoryStore::leader() { return alone_ ? 0 : ensemble_->leader(); }

void ZooKeeperHistoryStore::complete() {
  if (ensemble_) {
    ensemble_->complete();
    return;
  }
  if (!alone_->runs()) alone_->start();
  alone_->resume();
}

std::vector<Disturbance> zookeeper_disturbances() {
  return {{.name = "server killed", .bring_about = kill_server},
          {.name = "leader killed", .bring_about = kill_leader},
          {.name = "server stopped", .bring_about = stop_server},
          {.name = "connections cut", .bring_about = cut_connections},
          {.name = "replies cut", .bring_about = cut_replies},
          {.name = "cut at a step", .bring_about = cut_at_steps},
          {.name = "replies dripped", .bring_about = drip_replies},
          {.name = "half open", .bring_about = freeze_connections},
          {.name = "black hole", .bring_about = swallow_everything},
          {.name = "late requests", .bring_about = deliver_late}};
}

HistoryBackend zookeeper_processes(const std::string& name, ZooKeeperSize size) {
  return {.under_test = {.name = name,
                         .open =
                             [size](const std::shared_ptr<Clock>&) {
                               return std::make_unique<ZooKeeperHistoryStore>(size, in_short);
                             },
                         .short_lease = session,
                         .answers_at_once = false},
          .disturbances = zookeeper_disturbances(),
          .installed = [] { return test::ZooKeeperServer::missing().empty(); },
          .oversleeps = 0.005,
          .long_holds = 0.01,
          // A server takes a second to come back.
          .short_run = 8s,
          .fewest_grants_a_second = 5};
}

}  // namespace mortise::model
