// SPDX-License-Identifier: MIT
// A ZooKeeper for one test at a time, which has a path of its own. What it keeps of a hold is a
// session, whose time is the lease of all holds of its client.
#include "fault/own_server.hpp"
#include "fault/zookeeper_fixture.hpp"

namespace mortise::fault {
namespace {

class OwnZooKeeper final : public OwnServer {
 public:
  [[nodiscard]] Client client(std::chrono::milliseconds lease, ClientOptions options) override {
    const std::string parameters = "?session=" + std::to_string(lease.count()) + "ms&margin=300ms";
    return Client(server_.url(root_ + parameters), std::move(options));
  }
  [[nodiscard]] LockOptions hold(std::chrono::milliseconds /*lease*/) const override { return {}; }
  void kill() override { server_.kill(); }
  void start() override { server_.start(); }
  [[nodiscard]] std::chrono::nanoseconds start_took() const override {
    return server_.start_took();
  }
  void stop() override { server_.stop(); }
  void resume() override { server_.resume(); }
  int cut(std::uint64_t /*dice*/) override { return 0; }  // it cannot without ending the session
  [[nodiscard]] std::unique_ptr<Proxy> way() const override {
    return std::make_unique<Proxy>(server_.port(),
                                   test::ProxyOptions{.protocol = test::ProxyProtocol::zookeeper});
  }
  [[nodiscard]] Client administrator(const Proxy& way) const override {
    return Client("zookeeper://127.0.0.1:" + std::to_string(way.port()) + "/" + root_);
  }
  [[nodiscard]] std::string place(const std::string& name) override {
    ZooKeeperTalk talk = server_.talk();
    const std::vector<std::string> queue = ZooKeeperLocks("/" + root_).queue(talk, name);
    return queue.size() < 2 ? std::string() : queue[1];
  }

 private:
  const std::string root_ = ZooKeeperServer::fresh_root();
  ZooKeeperServer& server_ = ZooKeeperServer::shared();
};

// What the server keeps to itself (`margin` of the URL) is in the proof that a hold counts from:
// src/zookeeper/life.hpp.
[[maybe_unused]] const bool zookeeper_is_a_ground = test::add_ground<>(
    "ZooKeeper", OwnServerGround{.name = "zookeeper",
                                 .open = [] { return std::make_unique<OwnZooKeeper>(); },
                                 .missing = [] { return ZooKeeperServer::missing(); },
                                 .sessions = true,
                                 .ends_by_force = {.command = "DELETE"},
                                 .short_lease = session,
                                 .lease = 6s});

}  // namespace
}  // namespace mortise::fault
