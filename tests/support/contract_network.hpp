// SPDX-License-Identifier: MIT
// What a test can do to a store through the proxy before it, whatever they speak.
#pragma once

#include "support/contract_backend.hpp"
#include "support/proxy.hpp"

#include <cstdint>
#include <optional>
#include <set>

namespace mortise::contract {

inline void let_through(test::Proxy& proxy, bool reachable) {
  proxy.refuse(!reachable);
  if (!reachable) proxy.cut_all();
}
inline void misbehave(test::Proxy& proxy, const Misbehaviour& how) {
  proxy.lose_request(how.lose_request);
  proxy.lose_reply(how.lose_reply);
  proxy.lose_push(how.lose_push);
  proxy.delay(how.delay_min, how.delay_max);
}

/// The hooks of a server, reached by streams: a proxy is a thread of the test's process, so that
/// other processes are reached without one only.
[[nodiscard]] inline std::set<Hook> hooks_of_server(bool proxied) {
  if (!proxied) return {Hook::restart, Hook::take_away, Hook::processes};
  return all_hooks_but({Hook::processes, Hook::hand_clock, Hook::late_copies, Hook::take_key_away});
}

/// A store with one server, which may have a proxy before it.
class NetworkStore : public Store {
 public:
  void set_reachable(bool reachable) override { let_through(*proxy_, reachable); }
  void misbehave(const Misbehaviour& how) override { contract::misbehave(*proxy_, how); }
  [[nodiscard]] std::uint64_t pushes() const override { return proxy_->pushes(); }

 protected:
  std::optional<test::Proxy> proxy_;
};

}  // namespace mortise::contract
