// SPDX-License-Identifier: MIT
#include "support/redis_server.hpp"

#include "base/random_id.hpp"
#include "support/certificates.hpp"
#include "support/eventually.hpp"
#include "support/free_port.hpp"
#include "support/redis_version.hpp"
#include "support/text_of.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace mortise::test {
namespace {

constexpr std::chrono::seconds redis_start_limit{10};
constexpr std::chrono::seconds redis_stop_limit{10};
constexpr const char* administrators_name = "test-administrator";

std::string find_program() {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "/usr/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::string program = folder + "/redis-server";
    if (::access(program.c_str(), X_OK) == 0) return program;
  }
  return {};
}

}  // namespace

RedisServer::RedisServer(Options options)
    : options_(std::move(options)), secret_(std::to_string(base::random_bits())) {
  if (options_.tls != Options::Tls::none && options_.certificates == nullptr) {
    throw std::invalid_argument("a redis-server with TLS needs certificates");
  }
  // Somebody may take a port between its choice and its use.
  for (int attempt = 0; attempt < 20; ++attempt) {
    choose_ports();
    write_configuration();
    if (launch()) return;
  }
  fail("redis-server finds no free port");
}

std::string RedisServer::url() const { return "redis://127.0.0.1:" + std::to_string(port_); }

std::string RedisServer::tls_url() const {
  return "rediss://127.0.0.1:" + std::to_string(tls_port_);
}

RedisTalk RedisServer::talk() const { return RedisTalk(port_, administrators_name, secret_); }

std::pair<std::string, std::string> RedisServer::administrator() const {
  return {administrators_name, secret_};
}

void RedisServer::kill() { process_.kill(); }

void RedisServer::shutdown() {
  process_.resume();
  process_.terminate();
  if (process_.wait_for(redis_stop_limit)) return;
  process_.kill();
  fail("redis-server did not end in good order");
}

void RedisServer::stop() {
  if (!process_.stop()) fail("redis-server has ended");
}

void RedisServer::resume() { process_.resume(); }

void RedisServer::start() {
  if (!process_.wait_for(std::chrono::milliseconds(0))) {
    throw std::logic_error("redis-server runs already");
  }
  if (!launch()) fail("the port of redis-server was taken while it was down");
}

void RedisServer::restart() {
  shutdown();
  start();
}

std::string RedisServer::log() const { return text_of(directory_.file("redis.log")); }

std::string RedisServer::missing() { return find_program().empty() ? "redis-server" : ""; }

void RedisServer::choose_ports() {
  port_ = free_port();
  if (options_.of_cluster) {
    do {
      cluster_port_ = free_port();
    } while (cluster_port_ == port_);
  }
  if (options_.tls == Options::Tls::none) return;
  do {
    tls_port_ = free_port();
  } while (tls_port_ == port_ || tls_port_ == cluster_port_);
}

void RedisServer::write_configuration() const {
  const bool keeps = options_.persistence == Options::Persistence::always;
  std::ofstream file(directory_.file("redis.conf"), std::ios::trunc);
  file << "daemonize no\n"
       << "bind 127.0.0.1\n"
       << "port " << port_ << '\n'
       << "unixsocket " << socket_path() << '\n'
       << "dir " << directory_.path() << '\n'
       << "logfile " << directory_.file("redis.log") << '\n'
       << "protected-mode no\n"
       << "save \"\"\n"
       << "appendonly " << (keeps ? "yes" : "no") << '\n'
       << "appendfsync " << (keeps ? "always" : "no") << '\n'
       << "user " << administrators_name << " on >" << secret_ << " ~* &* +@all\n";
  if (redis_major_version() >= 7) file << "enable-debug-command yes\n";
  if (options_.tls != Options::Tls::none) {
    const bool both = options_.tls == Options::Tls::client_certificate_too;
    file << "tls-port " << tls_port_ << '\n'
         << "tls-ca-cert-file " << options_.certificates->ca() << '\n'
         << "tls-cert-file " << options_.certificates->server_certificate() << '\n'
         << "tls-key-file " << options_.certificates->server_key() << '\n'
         << "tls-auth-clients " << (both ? "yes" : "no") << '\n';
  }
  if (options_.of_cluster) {
    file << "cluster-enabled yes\n"
         << "cluster-port " << cluster_port_ << '\n'
         << "cluster-config-file nodes.conf\n";
  }
  if (!options_.password.empty()) file << "requirepass " << options_.password << '\n';
  for (const std::string& user : options_.users) file << "user " << user << '\n';
  for (const std::string& line : options_.lines) file << line << '\n';
  file.close();
  if (!file) throw std::runtime_error("cannot write the configuration of redis-server");
}

// False: a port was taken. The server that answers is ours, because no other knows the secret.
bool RedisServer::launch() {
  const std::size_t before = log().size();
  const std::string program = find_program();
  if (program.empty()) throw std::runtime_error("redis-server is not installed");
  std::vector<std::string> arguments{directory_.file("redis.conf")};
  if (options_.sentinel) arguments.emplace_back("--sentinel");
  process_ = model::Process::spawn(program, arguments);
  bool up = false;
  const bool decided = eventually(
      [&] {
        up = answers();
        return up || process_.wait_for(std::chrono::milliseconds(0));
      },
      redis_start_limit);
  if (up) return true;
  if (!decided) {
    process_.kill();
    fail("redis-server does not answer");
  }
  if (log().find("Address already in use", before) != std::string::npos) return false;
  fail("redis-server has ended with code " +
       std::to_string(process_.wait_for(std::chrono::milliseconds(0))->code));
}

bool RedisServer::answers() const {
  try {
    RedisTalk talk(port_, administrators_name, secret_, std::chrono::seconds(1));
    return !talk.command({"PING"}).text.starts_with("LOADING");
  } catch (const RedisTalkError&) {
    return false;
  }
}

void RedisServer::fail(const std::string& what) const {
  constexpr std::size_t most = 2000;
  const std::string all = log();
  const std::size_t from = all.size() - std::min(all.size(), most);
  throw std::runtime_error(what + "; the end of its log:\n" + all.substr(from));
}

}  // namespace mortise::test
