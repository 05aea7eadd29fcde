// SPDX-License-Identifier: MIT
#include "model/distant_store.hpp"

#include "model/seed.hpp"

namespace mortise::model {

using contract::Hook;
using test::Proxy;

DistantStore::DistantStore() : seed_(test_seed()) {}

void DistantStore::add_network(std::uint16_t target_port, test::ProxyProtocol protocol) {
  networks_.emplace_back(target_port, seed_ + networks_.size(), protocol);
}

bool DistantStore::has(Hook hook) const {
  return hook != Hook::hand_clock && hook != Hook::late_copies && hook != Hook::counts;
}

void DistantStore::set_reachable(bool reachable) {
  for (const DistantProxy& network : networks_) {
    network.tell([reachable](Proxy& proxy) {
      proxy.refuse(!reachable);
      if (!reachable) proxy.cut_all();
    });
  }
}

void DistantStore::misbehave(const contract::Misbehaviour& how) {
  for (const DistantProxy& network : networks_) {
    network.tell([how](Proxy& proxy) {
      proxy.lose_request(how.lose_request);
      proxy.lose_reply(how.lose_reply);
      proxy.lose_push(how.lose_push);
      proxy.delay(how.delay_min, how.delay_max);
    });
  }
}

}  // namespace mortise::model
