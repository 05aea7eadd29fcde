// SPDX-License-Identifier: MIT
#include "support/zookeeper_ensemble.hpp"

#include "support/eventually.hpp"
#include "support/free_port.hpp"

#include <algorithm>
#include <chrono>
#include <set>
#include <stdexcept>
#include <utility>

namespace mortise::test {
namespace {

constexpr std::chrono::seconds to_elect{60};

/// Between an election and the moment when its winner listens.
constexpr std::chrono::milliseconds to_lead{3'000};

std::string at(std::uint16_t port) { return "127.0.0.1:" + std::to_string(port); }

/// @param drawn before, for servers that do not listen there yet
std::vector<std::uint16_t> free_ports(std::size_t count,
                                      const std::vector<std::uint16_t>& drawn = {}) {
  std::set<std::uint16_t> ports;
  while (ports.size() < count) {
    const std::uint16_t port = free_port();
    if (std::find(drawn.begin(), drawn.end(), port) == drawn.end()) ports.insert(port);
  }
  return {ports.begin(), ports.end()};
}

}  // namespace

// The lines that each of them has: who they are, and how long they wait for each other. A machine
// that starts three at once while it does other things is slow.
std::vector<std::string> ZooKeeperEnsemble::members_for(std::size_t server) const {
  std::vector<std::string> out{"initLimit=50", "syncLimit=10"};
  for (std::size_t i = 0; i < size; ++i) {
    std::uint16_t leads_at = ports_[2 * i];
    std::uint16_t elects_at = ports_[2 * i + 1];
    for (const Way& way : ways_) {
      if (way.from != server || way.to != i) continue;
      leads_at = way.leading->port();
      elects_at = way.electing->port();
    }
    out.push_back("server." + std::to_string(i + 1) + "=" + at(leads_at) + ":" +
                  std::to_string(elects_at));
  }
  return out;
}

void ZooKeeperEnsemble::make_ways() {
  // Two of each; by those by which they elect each has to know the way back.
  const std::vector<std::uint16_t> ports = free_ports(2 * size * size, ports_);
  const auto elects = [&](std::size_t from, std::size_t to) { return ports[from * size + to]; };
  for (std::size_t i = 0; i < size * size; ++i) {
    const std::size_t from = i / size;
    const std::size_t to = i % size;
    if (from == to) continue;
    ways_.push_back(
        {.from = from,
         .to = to,
         .leading = std::make_unique<ZooKeeperWay>(ports[size * size + i], ports_[2 * to],
                                                   std::pair<std::string, std::string>(), to_lead),
         .electing = std::make_unique<ZooKeeperWay>(
             elects(from, to), ports_[2 * to + 1],
             std::pair(at(ports_[2 * from + 1]), at(elects(to, from))),
             std::chrono::milliseconds(0))});
  }
}

ZooKeeperEnsemble::ZooKeeperEnsemble(ZooKeeperServerOptions options, Links links)
    : ports_(free_ports(2 * size)) {
  if (links == Links::severable) make_ways();
  options.jvm.emplace_back("-Dzookeeper.cnxTimeout=500");
  // A member that restarts can find its port in use by connections that have just ended. By default
  // it tries three times, and then runs on without taking part in elections.
  options.jvm.emplace_back("-Dzookeeper.electionPortBindRetry=0");
  const std::vector<std::string> lines = options.lines;
  for (std::size_t i = 0; i < size; ++i) {
    options.member = static_cast<int>(i) + 1;
    options.lines = members_for(i);
    options.lines.insert(options.lines.end(), lines.begin(), lines.end());
    servers_.push_back(std::make_unique<ZooKeeperServer>(options));
  }
  complete();
}

void ZooKeeperEnsemble::cut_off(std::size_t which) {
  for (const Way& way : ways_) {
    if (way.from != which && way.to != which) continue;
    way.leading->cut();
    way.electing->cut();
  }
}

ZooKeeperEnsemble& ZooKeeperEnsemble::shared() {
  static ZooKeeperEnsemble ensemble;
  ensemble.complete();
  return ensemble;
}

std::string ZooKeeperEnsemble::url(const std::string& rest) const {
  std::string out;
  for (const auto& server : servers_)
    out += (out.empty() ? "zookeeper://" : ",") + server->address();
  return out + "/" + rest;
}

std::size_t ZooKeeperEnsemble::leader() {
  std::size_t found = size;
  const bool elected = eventually(
      [&] {
        found = size;
        std::size_t serving = 0;
        for (std::size_t i = 0; i < size; ++i) {
          if (!servers_[i]->runs()) continue;
          const std::string mode = servers_[i]->mode();
          if (mode == "leader") found = i;
          if (!mode.empty()) ++serving;
        }
        return found < size && serving > size / 2;
      },
      to_elect);
  if (!elected) throw std::runtime_error("ZooKeeper elects no leader");
  return found;
}

void ZooKeeperEnsemble::complete() {
  for (const auto& server : servers_) {
    if (!server->runs()) server->start();
    server->resume();
  }
  const auto serve = [this] {
    return eventually(
        [this] {
          return std::all_of(servers_.begin(), servers_.end(),
                             [](const auto& server) { return server->serves(); });
        },
        to_elect);
  };
  // An election of three servers that start together can stall. Servers that start again take part
  // in a new one.
  for (int tries = 0; !serve(); ++tries) {
    std::string logs;
    for (const auto& server : servers_) logs += server->log() + "\n";
    if (tries == 3)
      throw std::runtime_error("the ensemble of ZooKeeper does not come up; its logs:\n" + logs);
    for (const auto& server : servers_) {
      if (!server->serves()) server->restart();
    }
  }
}

ZooKeeperTalk ZooKeeperEnsemble::talk() {
  for (const auto& server : servers_) {
    if (server->runs() && server->serves()) return server->talk();
  }
  throw std::runtime_error("no server of the ensemble serves");
}

}  // namespace mortise::test
