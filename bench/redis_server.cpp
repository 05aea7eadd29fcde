// SPDX-License-Identifier: MIT
#include "redis_server.hpp"

#include "figure.hpp"
#include "raw_redis.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace mortise::bench {
namespace {

constexpr int attempts = 10;  // somebody may take a port between its choice and its use
constexpr std::chrono::seconds to_start{10};
constexpr std::chrono::milliseconds look_again{5};
constexpr int not_installed = 127;

std::uint16_t free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const general = reinterpret_cast<sockaddr*>(&address);
  const bool good =
      fd >= 0 && ::bind(fd, general, size) == 0 && ::getsockname(fd, general, &size) == 0;
  const int error = errno;
  if (fd >= 0) ::close(fd);
  if (!good) throw std::system_error(error, std::generic_category(), "a free port");
  return ntohs(address.sin_port);
}

std::string folder() {
  std::string name = std::filesystem::temp_directory_path() / "mortise-bench-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) {
    throw std::system_error(errno, std::generic_category(), "a folder of the cluster's");
  }
  return name;
}

/// In the child: the server's words go nowhere.
[[noreturn]] void become_server(Mode mode, std::vector<char*>& words) {
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
  ::execvp("redis-server", words.data());
  ::_exit(not_installed);
}

}  // namespace

RedisServer::RedisServer(Mode mode, Kind kind) {
  if (kind == Kind::of_a_cluster) folder_ = folder();
  for (int attempt = 0; attempt < attempts; ++attempt) {
    port_ = free_port();
    if (kind == Kind::of_a_cluster) cluster_port_ = free_port();
    if (launch(mode, kind)) return;
  }
  throw std::runtime_error("redis-server finds no free port");
}

RedisServer::~RedisServer() {
  end();
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

std::string RedisServer::url() const { return "redis://127.0.0.1:" + std::to_string(port_); }

bool RedisServer::launch(Mode mode, Kind kind) {
  std::vector<std::string> words = {
      "redis-server", "--port", std::to_string(port_), "--bind", "127.0.0.1", "--save", "",
      "--appendonly", "no",     "--daemonize",         "no"};
  if (kind == Kind::of_a_cluster) {
    words.insert(words.end(), {"--cluster-enabled", "yes", "--cluster-port",
                               std::to_string(cluster_port_), "--dir", folder_});
  }
  std::vector<char*> texts;
  for (std::string& word : words) texts.push_back(word.data());
  texts.push_back(nullptr);
  pid_ = ::fork();
  if (pid_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (pid_ == 0) become_server(mode, texts);
  const auto until = std::chrono::steady_clock::now() + to_start;
  while (std::chrono::steady_clock::now() < until) {
    if (ended()) return false;
    if (answers()) return true;
    std::this_thread::sleep_for(look_again);
  }
  end();
  throw std::runtime_error("redis-server does not answer");
}

/// Another server on this port is not ours.
bool RedisServer::answers() const {
  try {
    RawRedis redis(port_);
    return redis.info("server", "process_id") == std::to_string(pid_);
  } catch (const std::runtime_error&) {
    return false;
  }
}

bool RedisServer::ended() {
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) != pid_) return false;
  pid_ = -1;
  if (WIFEXITED(status) && WEXITSTATUS(status) == not_installed) {
    throw std::runtime_error("redis-server is not installed");
  }
  return true;
}

void RedisServer::end() noexcept {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

}  // namespace mortise::bench
