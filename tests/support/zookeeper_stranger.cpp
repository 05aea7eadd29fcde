// SPDX-License-Identifier: MIT
#include "support/zookeeper_stranger.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

namespace mortise::test {
namespace {

constexpr const char* java = "/usr/bin/java";
constexpr const char* python = "/usr/bin/python3";  // Debian's, which has Debian's kazoo
constexpr const char* kazoo = "/usr/lib/python3/dist-packages/kazoo";
constexpr const char* curator = "/usr/share/java/curator-recipes.jar";
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

model::Process start(ZooKeeperLibrary library, std::vector<std::string> arguments) {
  if (library == ZooKeeperLibrary::kazoo) {
    arguments.insert(arguments.begin(), MORTISE_TESTS_DIR "/support/python/kazoo_worker.py");
    return model::Process::spawn(python, arguments);
  }
  const std::vector<std::string> begin{
      "-XX:TieredStopAtLevel=1",
      "-XX:+UseSerialGC",
      "-XX:-UsePerfData",
      "-Xmx64m",
      "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
      "-cp",
      std::string(MORTISE_BIN_DIR "/java:/usr/share/java/slf4j-simple.jar:") + curator,
      "CuratorWorker"};
  arguments.insert(arguments.begin(), begin.begin(), begin.end());
  return model::Process::spawn(java, arguments);
}

}  // namespace

std::string_view name_of(ZooKeeperLibrary library) noexcept {
  return library == ZooKeeperLibrary::curator ? "Curator" : "Kazoo";
}

std::string missing(ZooKeeperLibrary library) {
  const std::vector<std::string> needed =
      library == ZooKeeperLibrary::kazoo
          ? std::vector<std::string>{python, kazoo}
          : std::vector<std::string>{java, curator, MORTISE_BIN_DIR "/java/CuratorWorker.class"};
  for (const std::string& file : needed) {
    if (!std::filesystem::exists(file)) return file;
  }
  return {};
}

ZooKeeperStranger::ZooKeeperStranger(ZooKeeperLibrary library, const std::string& servers,
                                     const std::string& path, const std::string& kind,
                                     const std::string& patterns) {
  const model::TemporaryDirectory directory;
  const std::string meeting = directory.file("socket");
  const int listener = listen_at(meeting);
  process_ = start(library, {meeting, servers, path, kind, patterns});
  if (readable(listener, to_come)) fd_ = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  ::close(listener);
  if (fd_ < 0) throw std::runtime_error(std::string(name_of(library)) + " does not come");
}

ZooKeeperStranger::ZooKeeperStranger(ZooKeeperStranger&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      received_(std::move(other.received_)),
      process_(std::move(other.process_)) {}

ZooKeeperStranger::~ZooKeeperStranger() {
  if (fd_ >= 0) ::close(fd_);
}

void ZooKeeperStranger::send(const std::string& order) const {
  const std::string line = order + "\n";
  if (::send(fd_, line.data(), line.size(), MSG_NOSIGNAL) != std::ssize(line)) {
    throw std::runtime_error("the other library's process has gone");
  }
}

std::string ZooKeeperStranger::answer(std::chrono::milliseconds within) {
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

std::string ZooKeeperStranger::ask(const std::string& order) {
  send(order);
  return answer();
}

}  // namespace mortise::test
