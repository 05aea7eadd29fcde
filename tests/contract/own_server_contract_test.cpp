// SPDX-License-Identifier: MIT
// Goal: a store that its author writes with mortise::remote keeps the contract. Method: the
// contract suite on the store of examples/own_server_store, through a network that can misbehave,
// and the tests with several processes on a plain network.
#include <mortise/remote/backend.hpp>

#include "lines.hpp"
#include "server.hpp"
#include "support/contract_network.hpp"
#include "support/contract_suites.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace mortise::contract {
namespace {

class OwnServerStore final : public NetworkStore {
 public:
  explicit OwnServerStore(bool proxied) {
    server_.emplace();
    if (!proxied) return;
    test::ProxyOptions options;
    options.protocol = test::ProxyProtocol::lines;
    proxy_.emplace(server_->port(), options);
  }
  [[nodiscard]] std::unique_ptr<Backend> backend() override {
    const std::uint16_t port = proxy_ ? proxy_->port() : server_->port();
    return remote::backend("127.0.0.1:" + std::to_string(port), std::make_unique<own::Lines>());
  }
  void restart() override {
    const std::uint16_t port = server_->port();
    server_.reset();
    server_.emplace(port);
  }
  void take_away(const std::string& name) override { server_->wipe(own::Lines::hex(name)); }
  [[nodiscard]] std::size_t waiters() const override { return server_->waiters(); }

 private:
  std::optional<own::LockServer> server_;
};

BackendUnderTest own_server(bool proxied) {
  return {.name = proxied ? "own_server" : "own_server_direct",
          .open = [=](const auto& /*clock*/) { return std::make_unique<OwnServerStore>(proxied); },
          .hooks = hooks_of_server(proxied),
          .qualities = {Quality::leases, Quality::fair, Quality::one_wake, Quality::min_hold,
                        Quality::holders},
          .answers_at_once = false};
}

MORTISE_CONTRACT(OwnServer, own_server(true));
MORTISE_CONTRACT_OF(OwnServerDirect, own_server(false), Crash, Traits);

}  // namespace
}  // namespace mortise::contract
