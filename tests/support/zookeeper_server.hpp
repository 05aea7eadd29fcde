// SPDX-License-Identifier: MIT
// A private ZooKeeper of a test's own, run by Java from Debian's jars, on a free port of 127.0.0.1
// and in a directory that goes with it. It is stopped by its own pid, and the kernel kills it
// should the test die first.
#pragma once

#include "model/process.hpp"
#include "model/temporary.hpp"
#include "support/certificates.hpp"
#include "support/needs.hpp"
#include "support/zookeeper_talk.hpp"

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace mortise::test {

/// By what a server is known on its secure port; files, all PEM.
struct ZooKeeperSecurity {
  std::string certificate;
  std::string key;
  std::string ca;                ///< who vouches for clients
  bool demands_clients = false;  ///< a certificate of theirs
  bool newest = false;           ///< TLS 1.3; by default a server speaks 1.2
};

struct ZooKeeperServerOptions {
  /// The server's unit of time: it ends sessions in steps of it, and grants none of under two.
  std::chrono::milliseconds tick{200};
  std::vector<std::string> lines{};  ///< further lines of the configuration; they win
  std::vector<std::string> jvm{};    ///< further arguments of Java: "-Dznode.container..."
  /// Which of an ensemble it is, whose servers `lines` names; 0: it stands alone. A member serves
  /// only when most of them run, so that it is started without being waited for.
  int member = 0;
  /// Run by the helper of tests/support/java, which does what no client can ask for.
  bool handled = false;
  /// Where its port is. Of ::1 there is no `talk()`.
  Loopback loopback = Loopback::four;
  /// Has a secure port beside the plain one; both are served by Netty then.
  std::optional<ZooKeeperSecurity> security{};
};

/// Starts with the object, ends with it. Not thread-safe. The thread that calls `start()`, by way
/// of the constructor also, must outlive the server: the kernel kills the server when that thread
/// ends.
class ZooKeeperServer {
 public:
  using Options = ZooKeeperServerOptions;

  /// @throws std::runtime_error with the end of its log, where it does not come up in 30 s
  explicit ZooKeeperServer(Options options = {});

  /// One that all tests of this process share, since a start takes some tenths of a second: each
  /// works in a path of its own. It runs, whatever was done to it before. Call it from the main
  /// thread.
  static ZooKeeperServer& shared();
  /// The same with a secure port, for `certificates()`, which demands that clients have one, too.
  static ZooKeeperServer& shared_secure();
  /// What `shared_secure()` is known by, and its clients.
  static const Certificates& certificates();
  /// @return a path of one part, without a slash, that no other test of this machine uses.
  [[nodiscard]] static std::string fresh_root();

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  [[nodiscard]] std::string address() const { return host() + ":" + std::to_string(port_); }
  /// @return zookeeper://127.0.0.1:PORT/rest
  [[nodiscard]] std::string url(const std::string& rest) const;
  [[nodiscard]] std::uint16_t secure_port() const noexcept { return secure_port_; }
  [[nodiscard]] std::string secure_address() const {
    return "127.0.0.1:" + std::to_string(secure_port_);
  }
  /// @return what a client of `shared_secure()` says in its URL.
  [[nodiscard]] static std::string secure_parameters();
  [[nodiscard]] pid_t pid() const noexcept { return process_.pid(); }
  [[nodiscard]] ZooKeeperTalk talk() const { return ZooKeeperTalk(port_); }
  /// What it answers to a four-letter word; empty where it does not.
  [[nodiscard]] std::string ask(std::string_view word) const {
    return ask_zookeeper(port_, word, options_.loopback);
  }
  /// One figure of "mntr", without "zk_".
  [[nodiscard]] std::int64_t figure(const std::string& name) const;
  /// "standalone", "leader", "follower"; empty: it serves nobody now.
  [[nodiscard]] std::string mode() const;
  [[nodiscard]] bool serves() const { return !mode().empty(); }

  void kill();    ///< kill -9
  void stop();    ///< SIGSTOP; returns when it stands still
  void resume();  ///< SIGCONT
  [[nodiscard]] bool runs();
  /// Again, on the same port and with what it had acknowledged. Returns when it serves, unless it
  /// is a member.
  void start();
  /// `kill()` and `start()`.
  void restart();
  /// The same, and what it had acknowledged is lost.
  void restart_without_data();

  // Of a server that is `handled`.
  /// Ends a session as its expiry would.
  void expire(std::int64_t session);
  /// Has the next sequential child of a node get this number.
  void set_sequence(const std::string& path, std::int64_t next);

  /// How long its last start took, until it answered.
  [[nodiscard]] std::chrono::nanoseconds start_took() const noexcept { return start_took_; }

  /// What it has written to its log since it was started last.
  [[nodiscard]] std::string log() const;

  /// @return why there can be no ZooKeeper on this machine; empty: there can be.
  [[nodiscard]] static std::string missing();
  /// @return the same for one that is `handled`.
  [[nodiscard]] static std::string missing_handle();

 private:
  [[nodiscard]] std::string host() const {
    return options_.loopback == Loopback::six ? "[::1]" : "127.0.0.1";
  }
  void write_configuration() const;
  void write_security(std::ostream& file) const;
  [[nodiscard]] std::vector<std::string> arguments() const;
  [[nodiscard]] bool launch();
  [[nodiscard]] bool answers() const;
  void handle(const std::string& order) const;
  [[noreturn]] void fail(const std::string& what) const;

  Options options_;
  model::TemporaryDirectory directory_;
  std::uint16_t port_ = 0;
  std::uint16_t secure_port_ = 0;
  std::chrono::nanoseconds start_took_{0};
  // Last, so that the server is dead before its directory goes.
  model::Process process_;
};

}  // namespace mortise::test

#define MORTISE_NEEDS_ZOOKEEPER() MORTISE_NEEDS(::mortise::test::ZooKeeperServer::missing())
