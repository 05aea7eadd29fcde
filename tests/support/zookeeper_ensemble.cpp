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

std::vector<std::uint16_t> free_ports(std::size_t count) {
  std::set<std::uint16_t> ports;
  while (ports.size() < count) ports.insert(free_port());
  return {ports.begin(), ports.end()};
}

}  // namespace

// The lines that each of them has: who they are, and how long they wait for each other. A machine
// that starts three at once while it does other things is slow.
std::vector<std::string> ZooKeeperEnsemble::members_for(std::size_t server) const {
  std::vector<std::string> out{"initLimit=50", "syncLimit=10"};
  for (std::size_t i = 0; i < size; ++i) {
    std::uint16_t leads_at = ports_[2 * i];
    for (const Way& way : ways_) {
      if (way.from == server && way.to == i) leads_at = way.proxy->port();
    }
    out.push_back("server." + std::to_string(i + 1) + "=127.0.0.1:" + std::to_string(leads_at) +
                  ":" + std::to_string(ports_[2 * i + 1]));
  }
  return out;
}

ZooKeeperEnsemble::ZooKeeperEnsemble(ZooKeeperServerOptions options, Links links)
    : ports_(free_ports(2 * size)) {
  for (std::size_t i = 0; links == Links::severable && i < size * size; ++i) {
    if (i / size == i % size) continue;
    ways_.push_back({.from = i / size,
                     .to = i % size,
                     // What servers say to each other is no protocol that the proxy knows.
                     .proxy = std::make_unique<Proxy>(
                         ports_[2 * (i % size)], ProxyOptions{.protocol = ProxyProtocol::redis})});
  }
  options.jvm.emplace_back("-Dzookeeper.cnxTimeout=500");
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
    if (way.from == which || way.to == which) way.proxy->blackhole(true);
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
  const auto serves = [](const auto& server) { return server->serves(); };
  if (!eventually([&] { return std::all_of(servers_.begin(), servers_.end(), serves); },
                  to_elect)) {
    std::string logs;
    for (const auto& server : servers_) logs += server->log() + "\n";
    throw std::runtime_error("the ensemble of ZooKeeper does not come up; its logs:\n" + logs);
  }
}

ZooKeeperTalk ZooKeeperEnsemble::talk() {
  for (const auto& server : servers_) {
    if (server->runs() && server->serves()) return server->talk();
  }
  throw std::runtime_error("no server of the ensemble serves");
}

}  // namespace mortise::test
