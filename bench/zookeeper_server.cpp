// SPDX-License-Identifier: MIT
#include "zookeeper_server.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <thread>

namespace mortise::bench {
namespace {

constexpr int attempts = 10;  // somebody may take a port between its choice and its use
constexpr std::chrono::seconds to_start{30};
constexpr std::chrono::milliseconds look_again{50};
constexpr timeval to_answer{.tv_sec = 2, .tv_usec = 0};  // who has taken the port may be silent
constexpr const char* java = "/usr/bin/java";
constexpr const char* jars = "/usr/share/java/slf4j-nop.jar:/usr/share/java/zookeeper.jar";

/// A connected socket, or one that got a free port; -1: not to be reached.
int open_socket(std::uint16_t& port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const general = reinterpret_cast<sockaddr*>(&address);
  const bool good = fd >= 0 && (port != 0 ? ::connect(fd, general, size) == 0
                                          : ::bind(fd, general, size) == 0 &&
                                                ::getsockname(fd, general, &size) == 0);
  port = ntohs(address.sin_port);
  if (good) return fd;
  if (fd >= 0) ::close(fd);
  return -1;
}

std::uint16_t free_port() {
  std::uint16_t port = 0;
  const int fd = open_socket(port);
  if (fd < 0) throw std::system_error(errno, std::generic_category(), "a free port");
  ::close(fd);
  return port;
}

/// In the child: the server's words go nowhere.
[[noreturn]] void become_server(Mode mode, const char* configuration) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  try {
    place(mode, Side::server);
  } catch (const std::system_error&) {
    ::_exit(1);
  }
  const int nowhere = ::open("/dev/null", O_RDWR);
  ::dup2(nowhere, STDIN_FILENO);
  ::dup2(nowhere, STDOUT_FILENO);
  ::dup2(nowhere, STDERR_FILENO);
  ::execl(java, java, "-Xmx512m", "-XX:+UseSerialGC", "-Dzookeeper.jmx.log4j.disable=true", "-cp",
          jars, "org.apache.zookeeper.server.quorum.QuorumPeerMain", configuration,
          static_cast<char*>(nullptr));
  ::_exit(127);
}

}  // namespace

ZooKeeperServer& ZooKeeperServer::warm(Mode mode) {
  static std::map<Mode, std::unique_ptr<ZooKeeperServer>> servers;
  std::unique_ptr<ZooKeeperServer>& server = servers[mode];
  if (!server) {
    server.reset(new ZooKeeperServer(mode));
    static_cast<void>(raw_zookeeper("warm", *server));
  }
  return *server;
}

ZooKeeperServer::ZooKeeperServer(Mode mode) {
  // In memory where that is possible: the floor is the client's and the server's work, not a
  // disk's.
  const bool in_memory = ::access("/dev/shm", W_OK | X_OK) == 0;
  directory_ = (in_memory ? "/dev/shm" : std::filesystem::temp_directory_path().string()) +
               "/mortise-bench-XXXXXX";
  if (::mkdtemp(directory_.data()) == nullptr) {
    throw std::system_error(errno, std::generic_category(), "cannot make " + directory_);
  }
  for (int attempt = 0; attempt < attempts; ++attempt) {
    port_ = free_port();
    if (launch(mode)) return;
  }
  throw std::runtime_error("ZooKeeper does not start: is libzookeeper-java installed?");
}

ZooKeeperServer::~ZooKeeperServer() {
  end();
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

std::string ZooKeeperServer::url() const {
  return "zookeeper://127.0.0.1:" + std::to_string(port_) + "/bench";
}

std::string ZooKeeperServer::ask(const std::string& word) const {
  std::uint16_t port = port_;
  const int fd = open_socket(port);
  if (fd < 0) return {};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &to_answer, sizeof to_answer);
  std::string out;
  if (::send(fd, word.data(), word.size(), MSG_NOSIGNAL) == std::ssize(word)) {
    std::array<char, 4096> buffer{};
    for (ssize_t size = 0; (size = ::recv(fd, buffer.data(), buffer.size(), 0)) > 0;) {
      out.append(buffer.data(), static_cast<std::size_t>(size));
    }
  }
  ::close(fd);
  return out;
}

int ZooKeeperServer::watches() const {
  // "1 connections watching 1 paths\nTotal watches:1"
  const std::string answer = ask("wchs");
  const std::size_t at = answer.rfind(':');
  return at == std::string::npos ? 0 : std::atoi(answer.c_str() + at + 1);
}

bool ZooKeeperServer::launch(Mode mode) {
  const std::string configuration = directory_ + "/zoo.cfg";
  std::ofstream(configuration) << "tickTime=2000\ndataDir=" << directory_
                               << "/data\nclientPort=" << port_
                               << "\nclientPortAddress=127.0.0.1\nmaxClientCnxns=0\n"
                               << "maxSessionTimeout=60000\nadmin.enableServer=false\n"
                               << "4lw.commands.whitelist=*\n";
  pid_ = ::fork();
  if (pid_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (pid_ == 0) become_server(mode, configuration.c_str());
  const auto until = std::chrono::steady_clock::now() + to_start;
  while (std::chrono::steady_clock::now() < until) {
    if (ended()) return false;
    // Another server on this port has another directory.
    if (ask("conf").find(directory_) != std::string::npos &&
        ask("srvr").find("Mode:") != std::string::npos) {
      return true;
    }
    std::this_thread::sleep_for(look_again);
  }
  end();
  throw std::runtime_error("ZooKeeper does not answer");
}

bool ZooKeeperServer::ended() {
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) != pid_) return false;
  pid_ = -1;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127) {
    throw std::runtime_error(std::string(java) + " is not installed");
  }
  return true;
}

void ZooKeeperServer::end() noexcept {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

double raw_zookeeper(const std::string& what, const ZooKeeperServer& server) {
  const std::string command = std::string(MORTISE_BIN_DIR "/mortise_bench_raw_zookeeper ") + what +
                              " " + std::to_string(server.port());
  std::FILE* const output = ::popen(command.c_str(), "r");
  if (output == nullptr) throw std::system_error(errno, std::generic_category(), command);
  double figure = 0;
  const bool told = std::fscanf(output, "%lf", &figure) == 1;
  if (::pclose(output) != 0 || !told) throw std::runtime_error("the floor failed: " + command);
  return figure;
}

}  // namespace mortise::bench
