// SPDX-License-Identifier: MIT
// A private pgbouncer before a test's PostgreSQL, in transaction mode: each transaction of a client
// may meet another session of the server.
#pragma once

#include "model/process.hpp"
#include "model/temporary.hpp"
#include "support/postgres_server.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace mortise::test {

struct PgbouncerOptions {
  int pool_size = 4;      ///< sessions of the server
  int max_clients = 500;  ///< and more are turned away
};

/// Starts with the object, ends with it; the thread that makes it must outlive it.
class Pgbouncer {
 public:
  /// @param server must live as long
  /// @throws std::runtime_error with the end of its log, where it does not come up in time
  explicit Pgbouncer(const PostgresServer& server, PgbouncerOptions options = {});
  Pgbouncer(const Pgbouncer&) = delete;
  Pgbouncer& operator=(const Pgbouncer&) = delete;
  ~Pgbouncer() = default;

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  /// The URL of the application's role.
  [[nodiscard]] std::string url() const { return PostgresServer::url_by(port_); }
  /// Ends all its connections, and starts again.
  void restart();

  [[nodiscard]] std::string log() const;
  /// @return why there can be none on this machine, with a server behind it; empty: there can be.
  [[nodiscard]] static std::string missing();

 private:
  void write_configuration(const PostgresServer& server, const PgbouncerOptions& options) const;
  [[nodiscard]] bool launch();
  [[nodiscard]] bool says(std::size_t from, std::string_view words) const;

  model::TemporaryDirectory directory_;
  std::uint16_t port_ = 0;
  model::Process process_;
};

}  // namespace mortise::test

#define MORTISE_NEEDS_PGBOUNCER() MORTISE_NEEDS(::mortise::test::Pgbouncer::missing())
