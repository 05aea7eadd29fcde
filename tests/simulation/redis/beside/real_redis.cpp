// SPDX-License-Identifier: MIT
#include "simulation/redis/beside/real_redis.hpp"

#include "simulation/redis/numbers.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <stdexcept>

namespace simulation::redis {
namespace {

constexpr int patience = 20'000;  // ms

std::atomic<std::int64_t>* make_clock(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || ::ftruncate(fd, sizeof(std::atomic<std::int64_t>)) != 0) {
    throw std::runtime_error("no file for a clock");
  }
  void* const place =
      ::mmap(nullptr, sizeof(std::atomic<std::int64_t>), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ::close(fd);
  if (place == MAP_FAILED) throw std::runtime_error("no memory for a clock");
  return static_cast<std::atomic<std::int64_t>*>(place);
}

/// For a process that is started meanwhile.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) {
    ::setenv(name, value.c_str(), 1);
  }
  ~Environment() { ::unsetenv(name_); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
};

int connect_to(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (fd < 0 || ::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    throw std::runtime_error("no connection to redis-server");
  }
  const int yes = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  return fd;
}

}  // namespace

std::optional<std::size_t> answer_size(std::string_view bytes) {
  const std::size_t end = bytes.find("\r\n");
  if (end == std::string_view::npos) return std::nullopt;
  const std::size_t header = end + 2;
  const std::int64_t number = parse_integer(bytes.substr(1, end - 1)).value_or(0);
  if (bytes.front() == '$' && number >= 0) {
    const std::size_t whole = header + static_cast<std::size_t>(number) + 2;
    return whole <= bytes.size() ? std::optional(whole) : std::nullopt;
  }
  if (bytes.front() != '*') return header;
  std::size_t at = header;
  for (std::int64_t i = 0; i < number; ++i) {
    const std::optional<std::size_t> item = answer_size(bytes.substr(at));
    if (!item) return std::nullopt;
    at += *item;
  }
  return at;
}

RealRedis::RealRedis(std::chrono::nanoseconds now) : clock_(make_clock(directory_.file("clock"))) {
  set_wall(now);
  const Environment clock("MORTISE_FAKE_CLOCK", directory_.file("clock"));
  const Environment preload("LD_PRELOAD", MORTISE_FAKE_CLOCK_LIBRARY);
  server_ = std::make_unique<mortise::test::RedisServer>();
}

RealRedis::~RealRedis() {
  for (const auto& [connection, line] : lines_) ::close(line.fd);
  server_.reset();
  ::munmap(clock_, sizeof(std::atomic<std::int64_t>));
}

void RealRedis::set_wall(std::chrono::nanoseconds now) {
  clock_->store(std::chrono::duration_cast<std::chrono::microseconds>(now).count(),
                std::memory_order_release);
}

RealRedis::Line& RealRedis::line(int connection) {
  const auto found = lines_.find(connection);
  if (found != lines_.end()) return found->second;
  return lines_.emplace(connection, Line{connect_to(server_->port()), {}}).first->second;
}

void RealRedis::send(int connection, std::string_view bytes) {
  const int fd = line(connection).fd;
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0) throw std::runtime_error("redis-server does not read");
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

std::string RealRedis::answer(int connection) {
  Line& from = line(connection);
  while (true) {
    if (const std::optional<std::size_t> size = answer_size(from.pending)) {
      std::string whole = from.pending.substr(0, *size);
      from.pending.erase(0, *size);
      return whole;
    }
    pollfd polled{.fd = from.fd, .events = POLLIN, .revents = 0};
    if (::poll(&polled, 1, patience) <= 0) throw std::runtime_error("no answer of redis-server");
    std::array<char, 65536> buffer;
    const ssize_t size = ::recv(from.fd, buffer.data(), buffer.size(), 0);
    if (size <= 0) throw std::runtime_error("redis-server has closed the connection");
    from.pending.append(buffer.data(), static_cast<std::size_t>(size));
  }
}

}  // namespace simulation::redis
