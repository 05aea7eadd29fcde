// SPDX-License-Identifier: MIT
#include "model/zookeeper_history_store.hpp"

#include <mortise/zookeeper.hpp>

#include "model/network_disturbances.hpp"
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

ZooKeeperHistoryStore& zookeeper_of(Stage& stage) {
  return static_cast<ZooKeeperHistoryStore&>(*stage.store);
}

std::size_t any_server(Stage& stage, Dice& dice) {
  return dice.below(static_cast<std::uint32_t>(zookeeper_of(stage).networks().size()));
}

void kill(Stage& stage, Dice& dice, std::size_t which) {
  ZooKeeperHistoryStore& store = zookeeper_of(stage);
  store.server(which).kill();
  if (dice.chance(0.5)) stage.time.sleep(dice.between(0ms, stage.short_lease));
  store.complete();
}

void kill_zookeeper(Stage& stage, Dice& dice) { kill(stage, dice, any_server(stage, dice)); }
void kill_leader(Stage& stage, Dice& dice) { kill(stage, dice, zookeeper_of(stage).leader()); }

void stop_zookeeper(Stage& stage, Dice& dice) {
  ZooKeeperHistoryStore& store = zookeeper_of(stage);
  const std::size_t which = any_server(stage, dice);
  store.server(which).stop();
  stage.time.sleep(dice.between(10ms, stage.short_lease * 3 / 2));
  store.complete();
}

void cut_at_steps(Stage& stage, Dice& dice) {
  cut_again_and_again(stage, dice, {.longest_between = 50ms}, [](Dice& by) {
    const auto moment = by.chance(0.5) ? Proxy::Moment::request : Proxy::Moment::reply;
    return [nth = 1 + by.below(6), moment](Proxy& proxy) { proxy.cut_at(nth, moment); };
  });
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
    add_network(server(i).port(), test::ProxyProtocol::zookeeper);
  }
}

std::unique_ptr<Backend> ZooKeeperHistoryStore::backend() {
  std::string servers;
  for (const DistantProxy& network : networks()) {
    servers += (servers.empty() ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(network.port());
  }
  return zookeeper::backend("zookeeper://" + servers + "/" + root_ + "?" + parameters_);
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
  return with_those_of_network({{.name = "server killed", .bring_about = kill_zookeeper},
                                {.name = "leader killed", .bring_about = kill_leader},
                                {.name = "server stopped", .bring_about = stop_zookeeper},
                                {.name = "cut at a step", .bring_about = cut_at_steps}},
                               {.reply_bytes = 60,
                                .slowest_drip = 300us,
                                .inboxes = false,
                                .long_black_holes = true,
                                .late_requests = "late requests"});
}

HistoryBackend zookeeper_processes(const std::string& name, ZooKeeperSize size) {
  std::set<Hook> hooks = distant_hooks();
  hooks.erase(Hook::lost_pushes);  // a stream loses no single message and goes on
  return {.under_test = {.name = name,
                         .open =
                             [size](const std::shared_ptr<Clock>&) {
                               return std::make_unique<ZooKeeperHistoryStore>(size, in_short);
                             },
                         .hooks = std::move(hooks),
                         .qualities = {contract::Quality::leases, contract::Quality::shared,
                                       contract::Quality::permits},
                         .missing = test::ZooKeeperServer::missing,
                         .short_lease = session,
                         .answers_at_once = false},
          .disturbances = zookeeper_disturbances(),
          .oversleeps = 0.005,
          .long_holds = 0.01,
          // A server takes a second to come back.
          .short_run = 8s,
          .fewest_grants_a_second = 5};
}

}  // namespace mortise::model
