// SPDX-License-Identifier: MIT
#include "support/zookeeper_server.hpp"

#include "support/eventually.hpp"
#include "support/free_port.hpp"
#include "support/java.hpp"
#include "support/text_of.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace mortise::test {
namespace {

constexpr std::chrono::seconds zookeeper_start_limit{30};
constexpr const char* needed_jars[] = {"/usr/share/java/slf4j-simple.jar",
                                       "/usr/share/java/zookeeper.jar"};  // brings Netty
// Made with the tests: see java/CMakeLists.txt.
constexpr const char* java_arguments = MORTISE_BIN_DIR "/java/zookeeper.args";
constexpr const char* class_archive = MORTISE_BIN_DIR "/java/zookeeper.jsa";
constexpr const char* helper_jar = MORTISE_BIN_DIR "/java/servers.jar";

}  // namespace

ZooKeeperServer::ZooKeeperServer(Options options) : options_(std::move(options)) {
  std::filesystem::create_directory(directory_.file("data"));
  // Somebody may take a port between its choice and its use.
  for (int attempt = 0; attempt < 20; ++attempt) {
    port_ = free_port();
    secure_port_ = options_.security ? free_port() : 0;
    write_configuration();
    if (launch()) return;
  }
  fail("ZooKeeper finds no free port");
}

ZooKeeperServer& ZooKeeperServer::shared() {
  static ZooKeeperServer server;
  if (!server.runs()) server.start();
  server.resume();
  return server;
}

ZooKeeperServer& ZooKeeperServer::shared_secure() {
  static ZooKeeperServer server(
      {.security = ZooKeeperSecurity{.certificate = certificates().server_certificate(),
                                     .key = certificates().server_key(),
                                     .ca = certificates().ca(),
                                     .demands_clients = true}});
  if (!server.runs()) server.start();
  server.resume();
  return server;
}

const Certificates& ZooKeeperServer::certificates() {
  static const Certificates made;
  return made;
}

std::string ZooKeeperServer::secure_parameters() {
  const Certificates& made = certificates();
  return "ca=" + made.ca() + "&cert=" + made.client_certificate() + "&key=" + made.client_key();
}

std::string ZooKeeperServer::fresh_root() {
  static int count = 0;
  return "test-" + std::to_string(::getpid()) + "-" + std::to_string(++count);
}

std::string ZooKeeperServer::url(const std::string& rest) const {
  return "zookeeper://" + address() + "/" + rest;
}

std::int64_t ZooKeeperServer::figure(const std::string& name) const {
  std::istringstream all(ask("mntr"));
  std::string key;
  for (std::string value; all >> key && std::getline(all, value);) {
    if (key == "zk_" + name) return std::stoll(value);
  }
  fail("ZooKeeper tells no " + name);
}

std::string ZooKeeperServer::mode() const {
  const std::string answer = ask("srvr");
  const std::string before = "Mode: ";
  const std::size_t at = answer.find(before);
  if (at == std::string::npos) return {};
  const std::size_t from = at + before.size();
  return answer.substr(from, answer.find('\n', from) - from);
}

void ZooKeeperServer::kill() { process_.kill(); }

void ZooKeeperServer::stop() {
  if (!process_.stop()) fail("ZooKeeper has ended");
}

void ZooKeeperServer::resume() { process_.resume(); }

bool ZooKeeperServer::runs() { return !process_.wait_for(std::chrono::milliseconds(0)); }

void ZooKeeperServer::start() {
  if (runs()) throw std::logic_error("ZooKeeper runs already");
  if (!launch()) fail("the port of ZooKeeper was taken while it was down");
}

void ZooKeeperServer::restart() {
  kill();
  start();
}

void ZooKeeperServer::restart_without_data() {
  kill();
  std::filesystem::remove_all(directory_.file("data"));
  std::filesystem::create_directory(directory_.file("data"));
  start();
}

void ZooKeeperServer::expire(std::int64_t session) { handle("expire " + std::to_string(session)); }

void ZooKeeperServer::set_sequence(const std::string& path, std::int64_t next) {
  handle("sequence " + path + " " + std::to_string(next));
}

std::string ZooKeeperServer::log() const { return text_of(directory_.file("log")); }

std::string ZooKeeperServer::missing() {
  if (::access(java_program, X_OK) != 0) return java_program;
  for (const char* const jar : needed_jars) {
    if (!std::filesystem::exists(jar)) return jar;
  }
  return {};
}

std::string ZooKeeperServer::missing_handle() {
  if (std::string lack = missing(); !lack.empty()) return lack;
  // It is compiled with the tests, where there is a compiler.
  return std::filesystem::exists(helper_jar) ? "" : "javac";
}

void ZooKeeperServer::write_configuration() const {
  std::ofstream file(directory_.file("zoo.cfg"), std::ios::trunc);
  file << "tickTime=" << options_.tick.count() << '\n'
       << "minSessionTimeout=" << 2 * options_.tick.count() << '\n'
       << "maxSessionTimeout=60000\n"
       << "dataDir=" << directory_.file("data") << '\n'
       << "clientPort=" << port_ << '\n'
       << "clientPortAddress=" << (options_.loopback == Loopback::six ? "::1" : "127.0.0.1") << '\n'
       << "maxClientCnxns=0\n"
       << "admin.enableServer=false\n"
       << "4lw.commands.whitelist=*\n";
  if (options_.security) write_security(file);
  for (const std::string& line : options_.lines) file << line << '\n';
  file.close();
  if (options_.member != 0) std::ofstream(directory_.file("data/myid")) << options_.member;
  if (!file) throw std::runtime_error("cannot write the configuration of ZooKeeper");
}

// It wants its key and its certificate in one file.
void ZooKeeperServer::write_security(std::ostream& file) const {
  const ZooKeeperSecurity& security = *options_.security;
  const std::string identity = directory_.file("identity.pem");
  std::ofstream both(identity, std::ios::trunc);
  both << std::ifstream(security.key).rdbuf() << std::ifstream(security.certificate).rdbuf();
  if (!both.flush()) throw std::runtime_error("cannot write " + identity);
  file << "serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory\n"
       << "secureClientPort=" << secure_port_ << '\n'
       << "secureClientPortAddress=127.0.0.1\n"
       << "ssl.keyStore.location=" << identity << '\n'
       << "ssl.trustStore.location=" << security.ca << '\n'
       << "ssl.clientAuth=" << (security.demands_clients ? "need" : "none") << '\n';
  if (security.newest) {
    file << "ssl.protocol=TLSv1.3\n"
         << "ssl.enabledProtocols=TLSv1.3\n"
         << "ssl.ciphersuites=TLS_AES_128_GCM_SHA256\n";  // by default it has older ones alone
  }
}

std::vector<std::string> ZooKeeperServer::arguments() const {
  // A log of 64 MB would be allocated at the start. What a killed process has written the kernel
  // keeps, so nothing is gained by waiting for the disk.
  std::vector<std::string> out{std::string("@") + java_arguments,
                               "-Dzookeeper.preAllocSize=1024",
                               "-Dzookeeper.forceSync=no",
                               "-Dzookeeper.jmx.log4j.disable=true",
                               "-Dzookeeper.nio.numSelectorThreads=1",
                               "-Dzookeeper.nio.numWorkerThreads=2",
                               "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                               "-Dorg.slf4j.simpleLogger.logFile=" + directory_.file("log")};
  out.insert(out.end(), options_.jvm.begin(), options_.jvm.end());
  if (std::filesystem::exists(class_archive)) {
    out.push_back(std::string("-XX:SharedArchiveFile=") + class_archive);
  }
  if (options_.handled) {
    out.insert(out.end(), {"HandledServer", directory_.file("handle")});
  } else {
    out.emplace_back("org.apache.zookeeper.server.quorum.QuorumPeerMain");
  }
  out.push_back(directory_.file("zoo.cfg"));
  return out;
}

// False: the port was taken.
bool ZooKeeperServer::launch() {
  if (const std::string lack = missing(); !lack.empty()) {
    throw std::runtime_error(lack + " is not installed");
  }
  std::filesystem::remove(directory_.file("log"));
  process_ = model::Process::spawn(java_program, arguments());
  if (options_.member != 0) return true;
  bool up = false;
  const auto began = std::chrono::steady_clock::now();
  const bool decided = eventually(
      [&] {
        up = answers();
        return up || !runs();
      },
      zookeeper_start_limit);
  start_took_ = std::chrono::steady_clock::now() - began;
  if (up) return true;
  if (!decided) {
    process_.kill();
    fail("ZooKeeper does not answer");
  }
  if (log().find("already in use") != std::string::npos) return false;
  fail("ZooKeeper has ended");
}

// The server that answers is ours, because no other has this directory.
bool ZooKeeperServer::answers() const {
  return serves() && ask("conf").find(directory_.path()) != std::string::npos;
}

void ZooKeeperServer::handle(const std::string& order) const {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  directory_.file("handle").copy(address.sun_path, sizeof address.sun_path - 1);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::string answer(256, '\0');
  ssize_t size = -1;
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    const std::string line = order + "\n";
    if (::send(fd, line.data(), line.size(), MSG_NOSIGNAL) == std::ssize(line)) {
      size = ::recv(fd, answer.data(), answer.size(), 0);
    }
  }
  ::close(fd);
  answer.resize(static_cast<std::size_t>(std::max<ssize_t>(0, size)));
  if (answer != "done\n") fail("the helper of ZooKeeper, asked to " + order + ": " + answer);
}

void ZooKeeperServer::fail(const std::string& what) const {
  constexpr std::size_t most = 2000;
  const std::string all = log();
  const std::size_t from = all.size() - std::min(all.size(), most);
  throw std::runtime_error(what + "; the end of its log:\n" + all.substr(from));
}

}  // namespace mortise::test
