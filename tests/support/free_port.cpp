// SPDX-License-Identifier: MIT
#include "support/free_port.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>

namespace mortise::test {
namespace {

constexpr int lowest = 10240;
constexpr int highest_of_all = 65535;

int highest() {
  std::ifstream file("/proc/sys/net/ipv4/ip_local_port_range");
  int first_outgoing = 0;
  file >> first_outgoing;
  // Where the kernel takes nearly everything, any port must do.
  return first_outgoing > lowest + 1000 ? first_outgoing - 1 : highest_of_all;
}

bool is_free(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) throw std::system_error(errno, std::generic_category(), "socket");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  // Without SO_REUSEADDR even the remains of old connections make it taken.
  const bool bound = ::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  ::close(fd);
  return bound;
}

/// The ports of this process, as locks on the bytes of a file that all tests of this machine share.
/// They last as long as the process.
class OwnPorts {
 public:
  /// @return false: another process has it, or this one has had it
  [[nodiscard]] bool take(std::uint16_t port) {
    const std::lock_guard lock(mutex_);
    flock one{};
    one.l_type = F_WRLCK;
    one.l_whence = SEEK_SET;
    one.l_start = port;
    one.l_len = 1;
    if (::fcntl(file_, F_OFD_SETLK, &one) == 0) return taken_.insert(port).second;
    if (errno == EAGAIN || errno == EACCES) return false;
    throw std::system_error(errno, std::generic_category(), "the lock on a port");
  }

 private:
  static int open() {
    const std::string name = "mortise-test-ports-" + std::to_string(::getuid());
    const std::filesystem::path path = std::filesystem::temp_directory_path() / name;
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) throw std::system_error(errno, std::generic_category(), path.string());
    return file;
  }

  std::mutex mutex_;
  const int file_ = open();  // never closed
  std::set<std::uint16_t> taken_;
};

}  // namespace

std::uint16_t free_port() {
  static OwnPorts own;
  // Not of the test's seed: two tests that run at once with one seed would ask for the same ports.
  std::random_device random;
  std::uniform_int_distribution<int> ports(lowest, highest());
  for (int attempt = 0; attempt < 1000; ++attempt) {
    const auto port = static_cast<std::uint16_t>(ports(random));
    if (is_free(port) && own.take(port)) return port;
  }
  throw std::runtime_error("no free port on 127.0.0.1");
}

}  // namespace mortise::test
