// SPDX-License-Identifier: MIT
#include "support/stranger.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace mortise::test {
namespace {

constexpr std::chrono::seconds to_come{30};

int listen_at(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(fd, 1) != 0) {
    throw std::system_error(errno, std::generic_category(), "cannot listen at " + path);
  }
  return fd;
}

bool readable(int fd, std::chrono::milliseconds within) {
  pollfd polled{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&polled, 1, static_cast<int>(within.count())) == 1;
}

}  // namespace

Stranger::Stranger(const std::string& name,
                   const std::function<model::Process(const std::string& meeting)>& start) {
  const model::TemporaryDirectory directory;
  const std::string meeting = directory.file("socket");
  const int listener = listen_at(meeting);
  process_ = start(meeting);
  if (readable(listener, to_come)) fd_ = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  ::close(listener);
  if (fd_ < 0) throw std::runtime_error(name + " does not come");
}

Stranger::Stranger(Stranger&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      received_(std::move(other.received_)),
      process_(std::move(other.process_)) {}

Stranger& Stranger::operator=(Stranger&& other) noexcept {
  std::swap(fd_, other.fd_);
  received_ = std::move(other.received_);
  process_ = std::move(other.process_);
  return *this;
}

Stranger::~Stranger() {
  if (fd_ >= 0) ::close(fd_);
}

void Stranger::send(const std::string& order) const {
  const std::string line = order + "\n";
  if (::send(fd_, line.data(), line.size(), MSG_NOSIGNAL) != std::ssize(line)) {
    throw std::runtime_error("the other library's process has gone");
  }
}

std::string Stranger::answer(std::chrono::milliseconds within) {
  while (received_.find('\n') == std::string::npos) {
    char buffer[256];
    const ssize_t size = readable(fd_, within) ? ::recv(fd_, buffer, sizeof buffer, 0) : 0;
    if (size <= 0) return {};
    received_.append(buffer, static_cast<std::size_t>(size));
  }
  const std::size_t end = received_.find('\n');
  std::string out = received_.substr(0, end);
  received_.erase(0, end + 1);
  return out;
}

std::string Stranger::ask(const std::string& order) {
  send(order);
  return answer();
}

}  // namespace mortise::test
