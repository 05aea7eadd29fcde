// SPDX-License-Identifier: MIT
// The ground of the fault tests on a store of mortise::remote: the server of
// examples/own_server_store behind a proxy, and clients of it.
#pragma once

#include <mortise/mortise.hpp>
#include <mortise/remote/backend.hpp>

#include "fault/like_lines.hpp"
#include "lines.hpp"
#include "server.hpp"
#include "support/eventually.hpp"
#include "support/own_time.hpp"
#include "support/proxy.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace mortise::fault {

using namespace std::chrono_literals;
using test::eventually;
using test::patience;
using test::Proxy;

class OwnServerStore : public ::testing::Test {
 protected:
  [[nodiscard]] own::LockServer& server() { return *server_; }
  [[nodiscard]] Proxy& proxy() { return proxy_; }
  /// @return the store by way of the proxy, with that protocol.
  [[nodiscard]] std::unique_ptr<Backend> store(
      std::unique_ptr<remote::Protocol> protocol = std::make_unique<own::Lines>()) const {
    return remote::backend("127.0.0.1:" + std::to_string(proxy_.port()), std::move(protocol));
  }
  /// A client whose connection stands.
  [[nodiscard]] Client ready_client() {
    Client client(store());
    client.check(patience);
    return client;
  }
  /// Another server is at its address from now on. Its clients have lost their connections.
  void restart() {
    const std::uint16_t port = server_->port();
    server_.reset();
    server_.emplace(port);
  }
  void expect_free(const std::string& name) {
    Client other = ready_client();
    Lock lock = other.make_lock(name);
    EXPECT_TRUE(eventually([&] { return lock.try_lock(); }, 2s)) << "a hold is left behind";
    lock.unlock();
    EXPECT_EQ(server_->waiters(), 0U);
  }
  /// Delivers the requests that the proxy has kept. Returns when the server has executed them.
  void deliver() {
    ASSERT_GT(proxy_.held(), 0U);
    const std::uint64_t before = server_->requests();
    const std::size_t sent = proxy_.release_held();
    ASSERT_TRUE(eventually([&] { return server_->requests() >= before + sent; }));
  }

 private:
  [[nodiscard]] static Proxy::Options of_lines() {
    Proxy::Options options;
    options.protocol = test::ProxyProtocol::lines;
    return options;
  }

  std::optional<own::LockServer> server_{std::in_place};
  Proxy proxy_{server_->port(), of_lines()};
};

}  // namespace mortise::fault
