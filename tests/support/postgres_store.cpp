// SPDX-License-Identifier: MIT
#include "support/postgres_store.hpp"

#include <mortise/postgres.hpp>

#include "support/certificates.hpp"
#include "support/contract_network.hpp"
#include "support/pgbouncer.hpp"
#include "support/postgres_server.hpp"
#include "support/postgres_tables.hpp"

#include <deque>
#include <set>
#include <string>
#include <utility>

namespace mortise::contract {
namespace {

using test::PostgresServer;

// A server costs more than most tests. The thread of the first test lives as long as the process.
// To prove a password takes 4,096 rounds of a digest for each connection: the way by TLS does that.
PostgresServer& plain_server() {
  static PostgresServer server({.access = {"host all all 127.0.0.1/32 trust"}});
  return server;
}

PostgresServer& encrypted_server() {
  static const test::Certificates certificates;
  static PostgresServer server(
      {.tls = PostgresServer::Options::Tls::client_certificate_too, .certificates = &certificates});
  return server;
}

const test::Pgbouncer& pooler() {
  static const test::Pgbouncer instance(plain_server());
  return instance;
}

// A schema costs as much as most tests, and to empty one little. What a test may leave under
// way in its own, such as the last statement of a process that was killed, is over when three
// others have come and gone.
class Schemas {
 public:
  explicit Schemas(PostgresServer& server) : server_(server) {}

  [[nodiscard]] std::string lend() {
    if (back_.size() < 3) {
      const std::string name = "store_" + std::to_string(++made_);
      postgres::migrate(server_.owner_url(), {.schema = name, .role = test::postgres_application});
      server_.talk().run("grant execute on function " + name + ".force_release to " +
                         test::postgres_application);
      return name;
    }
    std::string name = std::move(back_.front());
    back_.pop_front();
    test::empty_tables(server_, name);
    return name;
  }
  void take_back(std::string name) { back_.push_back(std::move(name)); }

 private:
  PostgresServer& server_;
  std::deque<std::string> back_;
  int made_ = 0;
};

Schemas& schemas_of(PostgresWay way) {
  if (way == PostgresWay::encrypted) {
    static Schemas encrypted(encrypted_server());
    return encrypted;
  }
  static Schemas plain(plain_server());
  return plain;
}

class PostgresStore final : public NetworkStore {
 public:
  PostgresStore(PostgresWay way, const std::string& parameters)
      : way_(way),
        server_(way == PostgresWay::encrypted ? encrypted_server() : plain_server()),
        schema_(schemas_of(way).lend()) {
    if (way == PostgresWay::network) {
      proxy_.emplace(server_.port(), test::ProxyOptions{.protocol = test::ProxyProtocol::postgres});
    }
    url_ = way_to_server();
    url_ += url_.find('?') == std::string::npos ? '?' : '&';
    url_ += "mortise.schema=" + schema_;
    if (!parameters.empty()) url_ += "&" + parameters;
  }
  PostgresStore(const PostgresStore&) = delete;
  PostgresStore& operator=(const PostgresStore&) = delete;
  ~PostgresStore() override { schemas_of(way_).take_back(schema_); }

  [[nodiscard]] std::unique_ptr<Backend> backend() override { return postgres::backend(url_); }
  void restart() override { server_.restart(); }
  void take_away(const std::string& name) override { remove("lock", name); }
  void take_key_away(const std::string& key) override { remove("run", key); }
  [[nodiscard]] std::size_t waiters() const override {
    return std::stoul(server_.talk().value(
        "select (select count(*) from " + schema_ + ".ticket) + (select count(*) from " + schema_ +
        ".run_ticket) + (select count(*) from " + schema_ + ".gate_ticket)"));
  }

 private:
  void remove(const std::string& table, const std::string& name) {
    // The name has any bytes: as hexadecimal digits they need no quoting.
    std::string digits;
    for (const char byte : name) {
      constexpr const char* all = "0123456789abcdef";
      digits += all[static_cast<unsigned char>(byte) >> 4U];
      digits += all[static_cast<unsigned char>(byte) & 15U];
    }
    server_.talk().run("delete from " + schema_ + "." + table + " where name = '\\x" + digits +
                       "'");
  }
  [[nodiscard]] std::string way_to_server() const {
    switch (way_) {
      case PostgresWay::network: return PostgresServer::url_by(proxy_->port());
      case PostgresWay::socket: return server_.socket_url();
      case PostgresWay::encrypted: return server_.url();
      case PostgresWay::pooled: return pooler().url();
    }
    return {};
  }

  const PostgresWay way_;
  PostgresServer& server_;
  const std::string schema_;
  std::string url_;
};

std::string word_for(PostgresWay way) {
  switch (way) {
    case PostgresWay::network: return "postgres";
    case PostgresWay::socket: return "postgres_socket";
    case PostgresWay::encrypted: return "postgres_tls";
    case PostgresWay::pooled: return "postgres_pooled";
  }
  return {};
}

}  // namespace

BackendUnderTest postgres_backend(PostgresWay way, const std::string& parameters) {
  const bool fair = parameters.find("mortise.fair=yes") != std::string::npos;
  std::set<Hook> hooks = hooks_of_server(way == PostgresWay::network);
  // Without tickets nobody stands in a queue: a release calls all who wait.
  if (!fair) hooks.erase(Hook::counts);
  hooks.insert(Hook::take_key_away);
  std::set qualities =
      fair ? std::set{Quality::leases,
                      Quality::fair,
                      Quality::one_wake,
                      Quality::once,
                      Quality::min_hold,
                      Quality::shared,
                      Quality::permits,
                      Quality::holders,
                      Quality::lists,
                      Quality::lists_once,
                      Quality::lists_long_names,
                      Quality::queues,
                      Quality::queues_of_many,
                      Quality::queues_of_both,
                      Quality::waiters,
                      Quality::forces}
           : std::set{Quality::leases, Quality::once,           Quality::min_hold,
                      Quality::shared, Quality::permits,        Quality::holders,
                      Quality::lists,  Quality::lists_once,     Quality::lists_long_names,
                      Quality::queues, Quality::queues_of_many, Quality::queues_of_both,
                      Quality::forces};
  if (!fair && way == PostgresWay::pooled) qualities.insert(Quality::chance);
  return {
      .name = word_for(way),
      .open =
          [way, parameters](const std::shared_ptr<Clock>&) {
            return std::make_unique<PostgresStore>(way, parameters);
          },
      .hooks = std::move(hooks),
      .qualities = std::move(qualities),
      .missing = way == PostgresWay::pooled ? test::Pgbouncer::missing : PostgresServer::missing,
      .answers_at_once = false};
}

}  // namespace mortise::contract
