// SPDX-License-Identifier: MIT
// What stores for histories have in common whose clients are processes: a bad network before each
// of their servers, which a test cuts, and makes lose and delay messages.
#pragma once

#include "model/distant_proxy.hpp"
#include "support/contract_backend.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <set>

namespace mortise::model {

// What a network can do, and a server in a process of its own.
[[nodiscard]] std::set<contract::Hook> distant_hooks();

class DistantStore : public contract::Store {
 public:
  void set_reachable(bool reachable) override;
  void misbehave(const contract::Misbehaviour& how) override;

  // In the order of the servers.
  [[nodiscard]] const std::deque<DistantProxy>& networks() const noexcept { return networks_; }

 protected:
  DistantStore();

  // Made while this process has one thread.
  void add_network(std::uint16_t target_port,
                   test::ProxyProtocol protocol = test::ProxyProtocol::redis);

 private:
  const std::uint64_t seed_;  // of the first
  std::deque<DistantProxy> networks_;
};

}  // namespace mortise::model
