// SPDX-License-Identifier: MIT
// A private redis-server of a test's own, on free ports of 127.0.0.1, in a directory that goes with
// it. It is stopped by its own pid, and the kernel kills it should the test die first.
#pragma once

#include "model/process.hpp"
#include "model/temporary.hpp"
#include "support/needs.hpp"
#include "support/redis_talk.hpp"

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace mortise::test {

class Certificates;

struct RedisServerOptions {
  /// `always`: every write is on disk before its answer, and a restart has all of them.
  enum class Persistence { none, always };
  /// Which TLS port there is beside the plain one.
  enum class Tls { none, server_certificate, client_certificate_too };

  Persistence persistence = Persistence::none;
  bool sentinel = false;  ///< it watches others: see redis_sentinels.hpp
  Tls tls = Tls::none;
  const Certificates* certificates = nullptr;  ///< must be given for TLS, and live as long
  std::string password;                        ///< of the user "default"
  bool of_cluster = false;                     ///< with a port for the others, see RedisCluster
  std::vector<std::string> users;  ///< as in the configuration, without the word "user" before
  std::vector<std::string> lines;  ///< further lines of the configuration; they win
};

/// @return options of a server that has every write on disk before its answer.
[[nodiscard]] inline RedisServerOptions durable_redis() {
  RedisServerOptions options;
  options.persistence = RedisServerOptions::Persistence::always;
  return options;
}

/// Starts with the object, ends with it. Not thread-safe. The thread that calls `start()`, by way
/// of the constructor also, must outlive the server: the kernel kills the server when that thread
/// ends.
class RedisServer {
 public:
  using Options = RedisServerOptions;

  /// @throws std::runtime_error with the end of its log, where it does not come up in 10 s
  explicit RedisServer(Options options = {});

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  [[nodiscard]] std::uint16_t tls_port() const noexcept { return tls_port_; }
  [[nodiscard]] std::uint16_t cluster_port() const noexcept { return cluster_port_; }
  [[nodiscard]] std::string socket_path() const { return directory_.file("redis.sock"); }
  [[nodiscard]] std::string url() const;      ///< redis://127.0.0.1:PORT
  [[nodiscard]] std::string tls_url() const;  ///< rediss://127.0.0.1:PORT
  [[nodiscard]] pid_t pid() const noexcept { return process_.pid(); }

  /// A connection that may do everything, as a user of its own, whatever the options say of others.
  [[nodiscard]] RedisTalk talk() const;
  /// Who that is: name and password.
  [[nodiscard]] std::pair<std::string, std::string> administrator() const;

  void kill();      ///< kill -9
  void shutdown();  ///< lets it end in good order
  void stop();      ///< SIGSTOP; returns when it stands still
  void resume();    ///< SIGCONT
  /// Again, on the same ports and in the same directory. Returns when it answers.
  void start();
  /// `shutdown()` and `start()`.
  void restart();

  /// What it has written to its log so far.
  [[nodiscard]] std::string log() const;

  /// @return why there can be no Redis on this machine; empty: there can be.
  [[nodiscard]] static std::string missing();

 private:
  void choose_ports();
  void write_configuration() const;
  [[nodiscard]] bool launch();
  [[nodiscard]] bool answers() const;
  [[noreturn]] void fail(const std::string& what) const;

  Options options_;
  model::TemporaryDirectory directory_;
  std::string secret_;
  std::uint16_t port_ = 0;
  std::uint16_t tls_port_ = 0;
  std::uint16_t cluster_port_ = 0;
  // Last, so that the server is dead before its directory goes.
  model::Process process_;
};

}  // namespace mortise::test

#define MORTISE_NEEDS_REDIS_SERVER() MORTISE_NEEDS(::mortise::test::RedisServer::missing())
