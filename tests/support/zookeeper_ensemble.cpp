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

// The lines that each of them has: who they are, and how long they wait for each other. A machine
// that starts three at once while it does other things is slow.
std::vector<std::string> members() {
  std::set<std::uint16_t> ports;
  while (ports.size() < 2 * ZooKeeperEnsemble::size) ports.insert(free_port());
  std::vector<std::string> out{"initLimit=50", "syncLimit=10"};
  auto port = ports.begin();
  for (std::size_t i = 1; i <= ZooKeeperEnsemble::size; ++i) {
    const std::string first = std::to_string(*port++);
    out.push_back("server." + std::to_string(i) + "=127.0.0.1:" + first + ":" +
                  std::to_string(*port++));
  }
  return out;
}

}  // namespace

ZooKeeperEnsemble::ZooKeeperEnsemble(ZooKeeperServerOptions options) {
  const std::vector<std::string> lines = members();
  options.lines.insert(options.lines.begin(), lines.begin(), lines.end());
  options.jvm.emplace_back("-Dzookeeper.cnxTimeout=500");
  for (std::size_t i = 0; i < size; ++i) {
    options.member = static_cast<int>(i) + 1;
    servers_.push_back(std::make_unique<ZooKeeperServer>(options));
  }
  complete();
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
