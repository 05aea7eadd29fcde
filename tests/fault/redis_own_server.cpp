// SPDX-License-Identifier: MIT
// A Redis of a test's own, with everything on disk that it has acknowledged.
#include "fault/own_server.hpp"
#include "fault/redis_fixture.hpp"

namespace mortise::fault {
namespace {

RedisServerOptions keeping_all() {
  RedisServerOptions options;
  options.persistence = RedisServerOptions::Persistence::always;
  return options;
}

class OwnRedis final : public OwnServer {
 public:
  [[nodiscard]] Client client(std::chrono::milliseconds /*lease*/, ClientOptions options) override {
    return Client(server_.url(), std::move(options));
  }
  void kill() override { server_.kill(); }
  void start() override { server_.start(); }
  void stop() override { server_.stop(); }
  void resume() override { server_.resume(); }
  int cut(std::uint64_t dice) override {
    int kinds = 0;
    for (const std::uint64_t kind : {0U, 1U}) {
      if (dice % 3 == kind) continue;
      server_.talk().expect_ok(
          {"CLIENT", "KILL", "TYPE", kind == 0 ? "normal" : "pubsub", "SKIPME", "yes"});
      ++kinds;
    }
    return kinds;
  }
  [[nodiscard]] std::unique_ptr<Proxy> way() const override {
    return std::make_unique<Proxy>(server_.port());
  }
  [[nodiscard]] Client administrator(const Proxy& way) const override { return Client(way.url()); }
  [[nodiscard]] std::string place(const std::string& name) override {
    const std::string queue = redis::lock_key("mortise:", name) + ":queue";
    const auto first = server_.talk().command({"ZRANGE", queue, "0", "0"}).items;
    return first.empty() ? std::string() : first.front().text;
  }

 private:
  RedisServer server_{keeping_all()};
};

[[maybe_unused]] const bool redis_is_a_ground =
    test::add_ground<>("Redis", OwnServerGround{.name = "redis",
                                                .open = [] { return std::make_unique<OwnRedis>(); },
                                                .missing = [] { return RedisServer::missing(); },
                                                .ends_by_force = {.command = "EVAL", .nth = 2}});

}  // namespace
}  // namespace mortise::fault
