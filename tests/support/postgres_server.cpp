// SPDX-License-Identifier: MIT
#include "support/postgres_server.hpp"

#include "support/certificates.hpp"
#include "support/eventually.hpp"
#include "support/free_port.hpp"
#include "support/postgres_programs.hpp"
#include "support/text_of.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace mortise::test {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds postgres_start_limit{30};
constexpr std::chrono::seconds postgres_stop_limit{15};
constexpr std::uintmax_t room = std::uintmax_t{512} << 20U;

// Nothing of it is about durability: the flushes of a test are real ones.
constexpr std::array configuration{
    "max_connections = 200",
    "shared_buffers = 16MB",
    "max_wal_size = 64MB",
    "min_wal_size = 5MB",
    "dynamic_shared_memory_type = mmap",  // in the data directory, which goes with the test
    "log_line_prefix = '%m [%p] %q%u '",
    "hot_standby = on",
};

// The state and the parent of a process, as the kernel tells them; nothing where it has gone.
struct Status {
  char state = '\0';
  pid_t parent = 0;
};

Status status_of(const std::string& pid) {
  const std::string text = text_of("/proc/" + pid + "/stat");
  Status out;
  const std::size_t name_ends = text.rfind(')');
  if (name_ends != std::string::npos) {
    std::istringstream(text.substr(name_ends + 1)) >> out.state >> out.parent;
  }
  return out;
}

// Whether it can still do anything: a dead one may wait for its parent to look.
bool lives(pid_t pid) {
  const char state = status_of(std::to_string(pid)).state;
  return state != '\0' && state != 'Z' && state != 'X';
}

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> out;
  for (const auto& one : fs::directory_iterator("/proc")) {
    const std::string name = one.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (status_of(name).parent == parent) out.push_back(std::stoi(name));
  }
  return out;
}

void signal_all(const std::vector<pid_t>& processes, int number) {
  for (const pid_t one : processes) ::kill(one, number);
}

}  // namespace

PostgresServer::PostgresServer(Options options)
    : options_(std::move(options)),
      directory_(options_.on_disk ? model::TemporaryDirectory::on_disk : room) {
  if (options_.tls != Options::Tls::none && options_.certificates == nullptr) {
    throw std::invalid_argument("a PostgreSQL with TLS needs certificates");
  }
  make_cluster();
  // Somebody may take a port between its choice and its use.
  for (int attempt = 0; attempt < ports_to_try; ++attempt) {
    port_ = free_port();
    write_configuration();
    if (launch()) return;
  }
  fail("PostgreSQL finds no free port");
}

PostgresServer::~PostgresServer() {
  if (process_.pid() < 0 || process_.wait_for(std::chrono::milliseconds(0))) return;
  try {
    // A server that is killed leaves its shared memory to the machine.
    resume();
    end(SIGQUIT);
  } catch (const std::exception&) {
    process_.kill();
  }
}

std::string PostgresServer::url_by(std::uint16_t port, const std::string& role) {
  return "postgresql://" + role + ":" + postgres_password + "@127.0.0.1:" + std::to_string(port) +
         "/" + postgres_database;
}

std::string PostgresServer::url_of(const std::string& role) const {
  std::string url = url_by(port_, role);
  if (options_.tls == Options::Tls::none) return url;
  url += "?sslmode=verify-full&sslrootcert=" + options_.certificates->ca();
  if (options_.tls == Options::Tls::client_certificate_too) {
    url += "&sslcert=" + options_.certificates->client_certificate() +
           "&sslkey=" + options_.certificates->client_key();
  }
  return url;
}

std::string PostgresServer::socket_url() const {
  return std::string("postgresql://") + postgres_application + ":" + postgres_password + "@/" +
         postgres_database + "?host=" + socket_folder() + "&port=" + std::to_string(port_);
}

PostgresTalk PostgresServer::talk(const std::string& database) const {
  return PostgresTalk("host=" + socket_folder() + " port=" + std::to_string(port_) +
                      " user=postgres dbname=" + database + " connect_timeout=10");
}

PostgresTalk PostgresServer::user() const { return PostgresTalk(socket_url()); }

void PostgresServer::kill() {
  // While the first of them stands still, no other begins.
  if (!process_.stop()) return;
  const std::vector<pid_t> children = children_of(pid());
  signal_all(children, SIGKILL);
  process_.kill();
  // A new server waits for nobody: it refuses to start beside the remains of the old one.
  const bool gone =
      eventually([&] { return std::none_of(children.begin(), children.end(), lives); });
  if (!gone) fail("a killed process of PostgreSQL lives on");
}

void PostgresServer::crash() { end(SIGQUIT); }

void PostgresServer::shutdown() { end(SIGINT); }

void PostgresServer::end(int signal) {
  if (::kill(pid(), signal) != 0) fail("PostgreSQL has ended");
  if (process_.wait_for(postgres_stop_limit)) return;
  kill();
  fail("PostgreSQL did not end in time");
}

void PostgresServer::stop() {
  if (!process_.stop()) fail("PostgreSQL has ended");
  const std::vector<pid_t> children = children_of(pid());
  signal_all(children, SIGSTOP);
  const bool still = eventually([&] {
    return std::all_of(children.begin(), children.end(), [](pid_t one) {
      return !lives(one) || status_of(std::to_string(one)).state == 'T';
    });
  });
  if (!still) fail("PostgreSQL does not stand still");
}

void PostgresServer::resume() {
  signal_all(children_of(pid()), SIGCONT);
  process_.resume();
}

void PostgresServer::start() {
  if (!process_.wait_for(std::chrono::milliseconds(0))) {
    throw std::logic_error("PostgreSQL runs already");
  }
  if (!launch()) fail("the port of PostgreSQL was taken while it was down");
}

void PostgresServer::restart() {
  shutdown();
  start();
}

void PostgresServer::promote() {
  if (talk("postgres").value("select pg_promote(true, 30)") != "t") fail("it is not promoted");
}

std::string PostgresServer::log() const { return text_of(file("postgres.log")); }

std::string PostgresServer::missing() {
  return postgres_program("initdb").empty() ? "PostgreSQL's server" : "";
}

void PostgresServer::make_cluster() {
  // The server makes its socket there.
  give_to_server_user({}, socket_folder());
  if (options_.standby_of == nullptr) {
    give_to_server_user(postgres_template(), file("data"));
    return;
  }
  const PostgresServer& primary = *options_.standby_of;
  run_as_server_user(file("postgres.log"), postgres_program("pg_basebackup"),
                     {"--pgdata=" + file("data"), "--host=" + primary.socket_folder(),
                      "--port=" + std::to_string(primary.port()), "--username=postgres",
                      "--checkpoint=fast", "--wal-method=stream", "--no-sync"});
}

void PostgresServer::write_configuration() const {
  const std::string draft = file("draft");
  const auto write = [&](const std::string& name, const std::string& text) {
    std::ofstream(draft, std::ios::trunc) << text;
    give_file_to_server_user(draft, file("data/") + name);
  };
  const bool encrypted = options_.tls != Options::Tls::none;
  const bool both = options_.tls == Options::Tls::client_certificate_too;
  std::ostringstream text;
  for (const char* const line : configuration) text << line << '\n';
  text << "listen_addresses = '127.0.0.1'\n"
       << "port = " << port_ << '\n'
       << "unix_socket_directories = '" << socket_folder() << "'\n";
  if (encrypted) {
    give_file_to_server_user(options_.certificates->ca(), file("data/ca.pem"));
    give_file_to_server_user(options_.certificates->server_certificate(), file("data/server.pem"));
    give_file_to_server_user(options_.certificates->server_key(), file("data/server.key"));
    text << "ssl = on\nssl_ca_file = 'ca.pem'\n"
         << "ssl_cert_file = 'server.pem'\nssl_key_file = 'server.key'\n";
  }
  if (options_.standby_of != nullptr) {
    const std::uint16_t port =
        options_.primary_port != 0 ? options_.primary_port : options_.standby_of->port();
    text << "primary_conninfo = 'host=127.0.0.1 port=" << port
         << " user=postgres application_name=standby'\n";
    write("standby.signal", "");
  }
  for (const std::string& line : options_.settings) text << line << '\n';
  write("postgresql.conf", text.str());

  std::ostringstream access;
  for (const std::string& line : options_.access) access << line << '\n';
  access << "local all postgres trust\n"
         << "local replication postgres trust\n"
         << "host replication postgres 127.0.0.1/32 trust\n"
         << "local all all scram-sha-256\n"
         << (encrypted ? "hostssl" : "host") << " all all 127.0.0.1/32 scram-sha-256"
         << (both ? " clientcert=verify-ca\n" : "\n");
  write("pg_hba.conf", access.str());
  fs::remove(draft);
}

// False: the port was taken.
bool PostgresServer::launch() {
  const std::size_t before = log().size();
  process_ = start_as_server_user(file("postgres.log"), postgres_program("postgres"),
                                  {"-D", file("data")});
  bool ready = false;
  const bool decided = eventually(
      [&] {
        ready = is_ready();
        return ready || process_.wait_for(std::chrono::milliseconds(0));
      },
      postgres_start_limit);
  if (ready) return true;
  if (!decided) {
    process_.kill();
    fail("PostgreSQL does not come up");
  }
  if (log().find("Address already in use", before) != std::string::npos) return false;
  fail("PostgreSQL has ended");
}

// The server says in a file how far it is: its process in the first line, its state in the eighth.
bool PostgresServer::is_ready() const {
  std::istringstream lines(text_of(file("data/postmaster.pid")));
  std::string line;
  std::getline(lines, line);
  if (line != std::to_string(pid())) return false;
  for (int number = 2; number <= 8; ++number) line.clear(), std::getline(lines, line);
  return line.starts_with("ready");
}

void PostgresServer::fail(const std::string& what) const {
  constexpr std::size_t most = 3000;
  const std::string all = log();
  throw std::runtime_error(what + "; the end of its log:\n" +
                           all.substr(all.size() - std::min(all.size(), most)));
}

}  // namespace mortise::test
