// SPDX-License-Identifier: MIT
// The store of the lock server keeps the contract. The suite is the library's own, from
// `find_package(mortise COMPONENTS contract)`.
#include "lines.hpp"
#include "server.hpp"

#include <cstdint>
#include <memory>
#include <mortise_contract.hpp>
#include <string>

namespace {

// [store]
class ServerStore final : public mortise::contract::Store {
 public:
  std::unique_ptr<mortise::Backend> backend() override {
    return mortise::remote::backend("127.0.0.1:" + std::to_string(server_->port()),
                                    std::make_unique<own::Lines>());
  }
  void take_away(const std::string& name) override { server_->wipe(own::Lines::hex(name)); }
  void restart() override {
    const std::uint16_t port = server_->port();
    server_.reset();
    server_ = std::make_unique<own::LockServer>(port);
  }

 private:
  std::unique_ptr<own::LockServer> server_ = std::make_unique<own::LockServer>();
};

mortise::contract::BackendUnderTest lines() {
  using mortise::contract::Hook;
  using mortise::contract::Quality;
  return {.name = "lines",
          .open = [](const auto& /*clock*/) { return std::make_unique<ServerStore>(); },
          .hooks = {Hook::take_away, Hook::restart},
          .qualities = {Quality::leases, Quality::fair, Quality::one_wake, Quality::min_hold,
                        Quality::holders},
          .answers_at_once = false};
}

MORTISE_CONTRACT(Lines, lines());
// [/store]

}  // namespace
