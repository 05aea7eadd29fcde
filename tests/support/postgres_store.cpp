// SPDX-License-Identifier: MIT
#include "support/postgres_store.hpp"

#include <mortise/postgres.hpp>

#include "support/certificates.hpp"
#include "support/pgbouncer.hpp"
#include "support/postgres_server.hpp"
#include "support/proxy.hpp"

#include <atomic>
#include <mutex>
#include <optional>

namespace mortise::contract {
namespace {

using test::PostgresServer;
using test::Proxy;

// A server costs more than most tests, a schema little. The thread of the first test lives as long
// as the process.
PostgresServer& plain_server() {
  static PostgresServer server;
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

std::string new_schema() {
  static std::atomic<int> last{0};
  return "store_" + std::to_string(++last);
}

class PostgresStore final : public Store {
 public:
  PostgresStore(PostgresWay way, const std::string& parameters)
      : way_(way),
        fair_(parameters.find("mortise.fair=yes") != std::string::npos),
        server_(way == PostgresWay::encrypted ? encrypted_server() : plain_server()),
        schema_(new_schema()) {
    if (way == PostgresWay::network) {
      proxy_.emplace(server_.port(), test::ProxyOptions{.protocol = test::ProxyProtocol::postgres});
    }
    url_ = way_to_server();
    url_ += url_.find('?') == std::string::npos ? '?' : '&';
    url_ += "mortise.schema=" + schema_;
    if (!parameters.empty()) url_ += "&" + parameters;
  }

  [[nodiscard]] std::unique_ptr<Backend> backend() override {
    // Not before: many tests ask for what the store has, and are skipped.
    std::call_once(migrated_, [this] {
      postgres::migrate(server_.owner_url(),
                        {.schema = schema_, .role = test::postgres_application});
    });
    return postgres::backend(url_);
  }
  [[nodiscard]] bool has(Hook hook) const override {
    switch (hook) {
      case Hook::hand_clock:
      case Hook::late_copies: return false;
      case Hook::processes: return !proxy_;
      case Hook::restart:
      case Hook::take_away: return true;
      case Hook::unreachable:
      case Hook::lost_messages:
      case Hook::lost_pushes:
      case Hook::delays: return proxy_.has_value();
      // Without tickets nobody stands in a queue: a release calls all who wait.
      case Hook::counts: return proxy_.has_value() && fair_;
    }
    return false;
  }
  void set_reachable(bool reachable) override {
    proxy_->refuse(!reachable);
    if (!reachable) proxy_->cut_all();
  }
  void restart() override { server_.restart(); }
  void take_away(const std::string& name) override {
    // The name has any bytes: as hexadecimal digits they need no quoting.
    std::string digits;
    for (const char byte : name) {
      constexpr const char* all = "0123456789abcdef";
      digits += all[static_cast<unsigned char>(byte) >> 4U];
      digits += all[static_cast<unsigned char>(byte) & 15U];
    }
    server_.talk().run("delete from " + schema_ + ".lock where name = '\\x" + digits + "'");
  }
  void misbehave(const Misbehaviour& how) override {
    proxy_->lose_request(how.lose_request);
    proxy_->lose_reply(how.lose_reply);
    proxy_->lose_push(how.lose_push);
    proxy_->delay(how.delay_min, how.delay_max);
  }
  [[nodiscard]] std::size_t waiters() const override {
    return std::stoul(server_.talk().value("select count(*) from " + schema_ + ".ticket"));
  }
  [[nodiscard]] std::uint64_t pushes() const override { return proxy_->pushes(); }

 private:
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
  const bool fair_;
  PostgresServer& server_;
  const std::string schema_;
  std::once_flag migrated_;
  std::optional<Proxy> proxy_;
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
  return {.name = word_for(way),
          .open =
              [way, parameters](const std::shared_ptr<Clock>&) {
                return std::make_unique<PostgresStore>(way, parameters);
              },
          .answers_at_once = false};
}

}  // namespace mortise::contract
