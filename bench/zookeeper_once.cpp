// SPDX-License-Identifier: MIT
// `Once` on ZooKeeper. The C client's half of a floor is in a process of its own, so the floor of a
// first run is the sum of two figures: our lock cycle, and the node by hand.
#include "once.hpp"
#include "zookeeper_server.hpp"

#include <string>

namespace mortise::bench {
namespace {

constexpr int many = 1000;
constexpr const char* in_long = "?session=30s";

double ours_of_run(Mode mode) {
  return p50_of(many, first_run(ZooKeeperServer::warm(mode).url() + in_long));
}

double floor_of_run(Mode mode) {
  const ZooKeeperServer& server = ZooKeeperServer::warm(mode);
  const double cycle = p50_of(many, locked_write(server.url() + in_long, [](const auto&) {}));
  return cycle + raw_zookeeper("write", server);
}

double ours_of_replay(Mode mode) {
  return p50_of(many, replay(ZooKeeperServer::warm(mode).url() + in_long));
}

double floor_of_replay(Mode mode) { return raw_zookeeper("read", ZooKeeperServer::warm(mode)); }

}  // namespace

void add_zookeeper_once(Cases& cases) {
  using enum Mode;
  add_once(cases, {same, crossed}, "zookeeper", why_not_once("zookeeper://127.0.0.1:1/bench"),
           {.ours = ours_of_run, .floor = floor_of_run, .goal = goal_of_first_run},
           {.ours = ours_of_replay, .floor = floor_of_replay, .goal = goal_of_replay});
}

}  // namespace mortise::bench
