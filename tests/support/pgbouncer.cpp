// SPDX-License-Identifier: MIT
#include "support/pgbouncer.hpp"

#include "support/eventually.hpp"
#include "support/free_port.hpp"
#include "support/postgres_programs.hpp"
#include "support/text_of.hpp"

#include <unistd.h>

#include <chrono>
#include <fstream>
#include <stdexcept>
#include <string_view>

namespace mortise::test {
namespace {

constexpr std::chrono::seconds pgbouncer_start_limit{10};

// Debian has it where only root looks.
std::string program() {
  std::string found = postgres_program("pgbouncer");
  if (!found.empty()) return found;
  constexpr const char* of_debian = "/usr/sbin/pgbouncer";
  return ::access(of_debian, X_OK) == 0 ? of_debian : "";
}

}  // namespace

Pgbouncer::Pgbouncer(const PostgresServer& server, PgbouncerOptions options) {
  give_to_server_user({}, directory_.path());
  for (int attempt = 0; attempt < ports_to_try; ++attempt) {
    port_ = free_port();
    write_configuration(server, options);
    if (launch()) return;
  }
  throw std::runtime_error("pgbouncer finds no free port");
}

void Pgbouncer::restart() {
  process_.kill();
  if (!launch()) throw std::runtime_error("the port of pgbouncer was taken while it was down");
}

std::string Pgbouncer::log() const { return text_of(directory_.file("pgbouncer.log")); }

std::string Pgbouncer::missing() {
  if (std::string lack = PostgresServer::missing(); !lack.empty()) return lack;
  return program().empty() ? "pgbouncer" : "";
}

void Pgbouncer::write_configuration(const PostgresServer& server,
                                    const PgbouncerOptions& options) const {
  const std::string draft = directory_.file("draft");
  std::ofstream(draft) << "[databases]\n"
                       << postgres_database << " = host=" << server.socket_folder()
                       << " port=" << server.port() << "\n[pgbouncer]\n"
                       << "listen_addr = 127.0.0.1\nlisten_port = " << port_ << "\n"
                       << "unix_socket_dir =\n"
                       << "auth_type = scram-sha-256\nauth_file = " << directory_.file("users")
                       << "\npool_mode = transaction\ndefault_pool_size = " << options.pool_size
                       << "\nmax_client_conn = " << options.max_clients
                       << "\nserver_login_retry = 1\n";
  give_file_to_server_user(draft, directory_.file("pgbouncer.ini"));
  std::ofstream(draft, std::ios::trunc)
      << '"' << postgres_application << "\" \"" << postgres_password << "\"\n"
      << '"' << postgres_owner << "\" \"" << postgres_password << "\"\n";
  give_file_to_server_user(draft, directory_.file("users"));
}

// False: the port was taken.
bool Pgbouncer::launch() {
  const std::size_t before = log().size();
  process_ = start_as_server_user(directory_.file("pgbouncer.log"), program(),
                                  {directory_.file("pgbouncer.ini")});
  bool up = false;
  const bool decided = eventually(
      [&] {
        up = says(before, "process up: ");
        return up || process_.wait_for(std::chrono::milliseconds(0));
      },
      pgbouncer_start_limit);
  const bool taken = says(before, "Address already in use");
  if (up && !taken) return true;
  process_.kill();
  if (taken) return false;
  throw std::runtime_error(std::string("pgbouncer ") +
                           (decided ? "has ended:\n" : "does not come up:\n") + log());
}

// Its own words: whoever else has the port would not say them here.
bool Pgbouncer::says(std::size_t from, std::string_view words) const {
  return log().find(words, from) != std::string::npos;
}

}  // namespace mortise::test
