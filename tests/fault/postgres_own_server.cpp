// SPDX-License-Identifier: MIT
// A PostgreSQL of a test's own, with the library's tables.
#include "fault/own_server.hpp"
#include "fault/postgres_fixture.hpp"

namespace mortise::fault {
namespace {

class OwnPostgres final : public OwnServer {
 public:
  OwnPostgres() { postgres::migrate(server_.owner_url(), {.role = test::postgres_application}); }
  [[nodiscard]] Client client(std::chrono::milliseconds /*lease*/, ClientOptions options) override {
    return Client(server_.url(), std::move(options));
  }
  void kill() override { server_.crash(); }
  void start() override { server_.start(); }
  void stop() override { server_.stop(); }
  void resume() override { server_.resume(); }
  int cut(std::uint64_t dice) override {
    const bool all = dice % 4 == 0;
    return static_cast<int>(server_.talk()
                                .rows(std::string("select pg_terminate_backend(pid) from (") +
                                      sessions + " order by random() limit " + (all ? "100" : "1") +
                                      ") as some_of_them")
                                .size());
  }
  [[nodiscard]] std::unique_ptr<Proxy> way() const override {
    return std::make_unique<Proxy>(server_.port(),
                                   test::ProxyOptions{.protocol = test::ProxyProtocol::postgres});
  }
  [[nodiscard]] Client administrator(const Proxy& way) const override {
    return Client(PostgresServer::url_by(way.port(), test::postgres_owner));
  }
  [[nodiscard]] std::string place(const std::string& name) override {
    const auto waits = server_.talk().rows(
        "select from mortise.lock where name = convert_to($1, 'UTF8')"
        " and waiters_until > clock_timestamp()",
        {name});
    return waits.empty() ? std::string() : "somebody's";
  }

 private:
  PostgresServer server_;
};

[[maybe_unused]] const bool postgres_is_a_ground = test::add_ground<>(
    "Postgres", OwnServerGround{.name = "postgres",
                                .open = [] { return std::make_unique<OwnPostgres>(); },
                                .missing = [] { return PostgresServer::missing(); },
                                .remembers_waiters = true,
                                .ends_by_force = {.nth = 2}});

}  // namespace
}  // namespace mortise::fault
