// SPDX-License-Identifier: MIT
// A private PostgreSQL of a test's own: a cluster in a directory that goes with it, on a free port
// of 127.0.0.1 and a unix socket. It is stopped by its own pid, and the kernel kills it should the
// test die first. Where the test is root the server runs as the user "postgres".
#pragma once

#include "model/process.hpp"
#include "model/temporary.hpp"
#include "support/needs.hpp"
#include "support/postgres_talk.hpp"
#include "support/postgres_template.hpp"

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace mortise::test {

class Certificates;
class PostgresServer;

struct PostgresServerOptions {
  /// Which users must use TLS when they come by the network.
  enum class Tls { none, server_certificate, client_certificate_too };

  Tls tls = Tls::none;
  const Certificates* certificates = nullptr;  ///< must be given for TLS, and live as long
  std::vector<std::string> settings{};         ///< further lines of postgresql.conf; they win
  std::vector<std::string> access{};           ///< lines of pg_hba.conf before the others
  bool on_disk = false;                        ///< where a flush costs something
  /// Starts as a hot standby of this one, which must run, from a copy of it as it is now.
  const PostgresServer* standby_of = nullptr;
  /// The way of the standby to its primary, where it is not the direct one.
  std::uint16_t primary_port = 0;
};

/// Starts with the object, ends with it. Not thread-safe. The thread that calls `start()`, by way
/// of the constructor also, must outlive the server: the kernel kills the server when that thread
/// ends.
class PostgresServer {
 public:
  using Options = PostgresServerOptions;

  /// @throws std::runtime_error with the end of its log, where it does not come up in time
  explicit PostgresServer(Options options = {});
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;
  ~PostgresServer();

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  /// @return the folder of the unix socket, as `host` of a URL.
  [[nodiscard]] const std::string& socket_folder() const noexcept { return directory_.path(); }
  [[nodiscard]] pid_t pid() const noexcept { return process_.pid(); }
  /// The URL of the application's role, by the network. With TLS it says `sslmode=verify-full`.
  [[nodiscard]] std::string url() const { return url_of(postgres_application); }
  /// The same for the role that owns the database.
  [[nodiscard]] std::string owner_url() const { return url_of(postgres_owner); }
  /// The application's role by the unix socket.
  [[nodiscard]] std::string socket_url() const;
  /// The application's role by another port of 127.0.0.1, where a proxy or a pooler listens.
  [[nodiscard]] static std::string url_by(std::uint16_t port,
                                          const std::string& role = postgres_application);

  /// @return a connection of the superuser, to the database of the locks.
  [[nodiscard]] PostgresTalk talk(const std::string& database = postgres_database) const;
  /// @return a connection of the application's role, as a user's own transaction has one.
  [[nodiscard]] PostgresTalk user() const;

  void kill();      ///< kill -9 of all its processes
  void crash();     ///< the immediate shutdown: no checkpoint, no farewell
  void shutdown();  ///< the fast one: sessions are ended, everything is kept
  void stop();      ///< SIGSTOP of all its processes; returns when they stand still
  void resume();    ///< SIGCONT
  /// Again, on the same port and in the same directory. Returns when it takes connections.
  void start();
  /// `shutdown()` and `start()`.
  void restart();
  /// Makes a standby a primary; returns when it is one.
  void promote();

  /// What it has written to its log so far.
  [[nodiscard]] std::string log() const;

  /// @return why there can be no PostgreSQL server on this machine; empty: there can be.
  [[nodiscard]] static std::string missing();

 private:
  void make_cluster();
  void write_configuration() const;
  [[nodiscard]] bool launch();
  [[nodiscard]] bool is_ready() const;
  void end(int signal);
  [[nodiscard]] std::string url_of(const std::string& role) const;
  [[nodiscard]] std::string file(const char* name) const { return directory_.file(name); }
  [[noreturn]] void fail(const std::string& what) const;

  Options options_;
  model::TemporaryDirectory directory_;
  std::uint16_t port_ = 0;
  // Last, so that the server is dead before its directory goes.
  model::Process process_;
};

}  // namespace mortise::test

#define MORTISE_NEEDS_POSTGRES_SERVER() MORTISE_NEEDS(::mortise::test::PostgresServer::missing())
