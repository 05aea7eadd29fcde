// SPDX-License-Identifier: MIT
// The program makes the connections to Redis itself, here through the unix socket of a sidecar of a
// service mesh. A tunnel or a proxy works in the same way. TLS (`rediss://`) goes through it too.
// usage: own_connection <path of a unix socket that leads to a Redis>
#include <mortise/mortise.hpp>
#include <mortise/redis.hpp>

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <system_error>

namespace {

// [connector]
// The library calls it on a thread of its own, for each connection and after each break.
int through_sidecar(const std::string& path, const std::string& host, std::uint16_t port) {
  std::clog << "connecting to " << host << ":" << port << " through " << path << "\n";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.copy(address.sun_path, sizeof address.sun_path - 1) < path.size()) {
    throw std::length_error("the path is too long for a unix socket");
  }
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  // A time limit for a sidecar that accepts no connection: connect() has none of its own.
  const timeval at_most{.tv_sec = 2, .tv_usec = 0};
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &at_most, sizeof at_most);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
  const int error = errno;
  ::close(fd);
  throw std::system_error(error, std::generic_category(),
                          path);  // becomes the text of `unavailable`
}
// [/connector]

}  // namespace

int main(int argc, char** argv) try {
  const std::string path = argc > 1 ? argv[1] : "/run/mesh/redis.sock";
  // The sidecar looks the host up. The name may be unknown on this machine.
  mortise::Client client(mortise::redis::backend(
      "redis://redis.orders.mesh", [path](const std::string& host, std::uint16_t port) {
        return through_sidecar(path, host, port);
      }));
  mortise::Lock lock = client.make_lock("orders/42");
  const mortise::Guard guard(lock);
  std::cout << "held through " << path << ", token " << guard.token().value() << "\n";
  return 0;
} catch (const std::exception& e) {
  std::cerr << "own_connection: " << e.what() << "\n";
  return 2;
}
