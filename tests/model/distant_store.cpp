// SPDX-License-Identifier: MIT
#include "model/distant_store.hpp"

#include "model/seed.hpp"
#include "support/contract_network.hpp"

namespace mortise::model {

using contract::Hook;
using test::Proxy;

DistantStore::DistantStore() : seed_(test_seed()) {}

void DistantStore::add_network(std::uint16_t target_port, test::ProxyProtocol protocol) {
  networks_.emplace_back(target_port, seed_ + networks_.size(), protocol);
}

std::set<Hook> distant_hooks() {
  return contract::all_hooks_but(
      {Hook::hand_clock, Hook::late_copies, Hook::counts, Hook::take_key_away});
}

void DistantStore::set_reachable(bool reachable) {
  for (const DistantProxy& network : networks_) {
    network.tell([reachable](Proxy& proxy) { contract::let_through(proxy, reachable); });
  }
}

void DistantStore::misbehave(const contract::Misbehaviour& how) {
  for (const DistantProxy& network : networks_) {
    network.tell([how](Proxy& proxy) { contract::misbehave(proxy, how); });
  }
}

}  // namespace mortise::model
