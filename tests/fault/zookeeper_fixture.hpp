// SPDX-License-Identifier: MIT
// The ground of the fault tests on ZooKeeper: a path of a server, clients of it, and looks into
// what they left there. It breaks nothing by itself.
#pragma once

#include "fault/party.hpp"
#include "support/proxy.hpp"
#include "support/zookeeper_locks.hpp"
#include "support/zookeeper_server.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace mortise::fault {

using test::Proxy;
using test::ZooKeeperKind;
using test::ZooKeeperLocks;
using test::ZooKeeperServer;
using test::ZooKeeperServerOptions;
using test::ZooKeeperTalk;
using test::ZooKeeperTalkError;

/// The lease of every hold in these tests, and what clients do not use of it.
inline constexpr std::chrono::milliseconds session{2'000};
inline constexpr std::chrono::milliseconds margin{300};
inline constexpr const char* in_short = "session=2s&margin=300ms";

class ZooKeeperTest : public ::testing::Test {
 protected:
  void SetUp() override { MORTISE_NEEDS_ZOOKEEPER(); }

  /// The shared one, unless the test has one of its own.
  [[nodiscard]] ZooKeeperServer& server() {
    // Once a test: it would start again what the test has killed.
    if (server_ == nullptr) server_ = &ZooKeeperServer::shared();
    return *server_;
  }
  void have_own(const ZooKeeperServerOptions& options = {}) {
    own_ = std::make_unique<ZooKeeperServer>(options);
    server_ = own_.get();
  }
  [[nodiscard]] Proxy& proxy() {
    if (!proxy_) {
      proxy_ = std::make_unique<Proxy>(
          server().port(), test::ProxyOptions{.protocol = test::ProxyProtocol::zookeeper});
    }
    return *proxy_;
  }
  /// What this test's names are below, without a slash.
  [[nodiscard]] const std::string& root() const noexcept { return root_; }
  /// What follows the servers in a URL.
  [[nodiscard]] std::string rest(const std::string& parameters = in_short) const {
    return root_ + "?" + parameters;
  }
  [[nodiscard]] std::string url(const std::string& parameters = in_short) {
    return server().url(rest(parameters));
  }
  [[nodiscard]] std::string proxied_url(const std::string& parameters = in_short) {
    return "zookeeper://127.0.0.1:" + std::to_string(proxy().port()) + "/" + rest(parameters);
  }
  [[nodiscard]] Client client(ClientOptions options = {}) {
    return Client(url(), std::move(options));
  }
  /// A client on the other side of the proxy, whose session stands.
  [[nodiscard]] Client proxied(ClientOptions options = {}) {
    Client mine(proxied_url(), std::move(options));
    mine.check(patience);
    return mine;
  }

  [[nodiscard]] std::string path(const std::string& name) const { return locks().path(name); }
  [[nodiscard]] ZooKeeperLocks locks() const { return ZooKeeperLocks("/" + root_); }
  /// @return the nodes of a name's queue, the holder's first.
  [[nodiscard]] std::vector<std::string> queue(const std::string& name) {
    ZooKeeperTalk talk = server().talk();
    return locks().queue(talk, name);
  }
  [[nodiscard]] bool comes_to_be(const std::string& name, std::size_t nodes,
                                 std::chrono::nanoseconds within = patience) {
    ZooKeeperTalk talk = server().talk();
    return eventually([&] { return locks().queue(talk, name).size() == nodes; }, within);
  }
  /// Waits until so many stand behind a holder.
  [[nodiscard]] bool come_to_wait(const std::string& name, std::size_t count = 1) {
    return comes_to_be(name, count + 1);
  }
  /// @return the session that a node belongs to.
  [[nodiscard]] std::int64_t owner_of(const std::string& node) {
    const auto stat = server().talk().stat(node);
    return stat ? stat->owner : 0;
  }
  /// Has what a name's queue stands on, so that the next one makes its own node only.
  void make_parent(Client& user, const std::string& name) {
    Lock lock = user.make_lock(name);
    ASSERT_TRUE(lock.try_lock_for(patience));
    lock.unlock();
    expect_free(name);
  }
  /// Nobody holds the name, nobody waits, and nothing is left of anybody: soon, since what need not
  /// be waited for is done behind the caller, but far sooner than by the end of a session.
  void expect_free(const std::string& name) {
    EXPECT_TRUE(comes_to_be(name, 0, session / 2))
        << name << ": " << ::testing::PrintToString(queue(name));
  }

 private:
  const std::string root_ = ZooKeeperServer::fresh_root();
  std::unique_ptr<ZooKeeperServer> own_;
  ZooKeeperServer* server_ = nullptr;
  std::unique_ptr<Proxy> proxy_;
};

}  // namespace mortise::fault
