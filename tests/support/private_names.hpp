// SPDX-License-Identifier: MIT
// Host names and dead addresses of a test's own, for a child process: in name spaces that end with
// it. Needs the rights of root; whoever lacks them skips the test.
#pragma once

#include "base/unique_fd.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <fstream>
#include <string>
#include <utility>

namespace mortise::test {

/// The exit code of a child that could not have name spaces of its own.
inline constexpr int no_name_spaces = 77;

/// From now on this process reads that file as /etc/hosts. It may be written again by `write()`.
class PrivateHosts {
 public:
  PrivateHosts(std::string file, const std::string& lines) : file_(std::move(file)) {
    write(lines);
    works_ = ::inotify_add_watch(reads_.get(), file_.c_str(), IN_CLOSE_NOWRITE) >= 0 &&
             ::unshare(CLONE_NEWNS) == 0 &&
             ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
             ::mount(file_.c_str(), "/etc/hosts", nullptr, MS_BIND, nullptr) == 0;
  }
  [[nodiscard]] bool works() const noexcept { return works_; }
  /// @param lines "127.0.0.2 name\n" each
  void write(const std::string& lines) { std::ofstream(file_, std::ios::trunc) << lines; }
  /// @return whether they were read since `forget_reads()`: once or more for each lookup.
  [[nodiscard]] bool were_read() const noexcept {
    pollfd polled{.fd = reads_.get(), .events = POLLIN, .revents = 0};
    return ::poll(&polled, 1, 0) > 0;
  }
  void forget_reads() const noexcept {
    std::array<char, 4096> events;
    while (::read(reads_.get(), events.data(), events.size()) > 0) {
    }
  }

 private:
  std::string file_;
  base::UniqueFd reads_ =
      base::UniqueFd::open([] { return ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK); });
  bool works_ = false;
};

/// Listens at that address until this process ends: it takes connections and never says a word; or
/// it takes none and refuses none, as a host that is off.
/// @return whether it does
inline bool keep_silent_at(const char* number, std::uint16_t port, bool takes_any) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  ::inet_pton(AF_INET, number, &address.sin_addr);
  const auto* const at = reinterpret_cast<const sockaddr*>(&address);
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::bind(listener, at, sizeof address) != 0 || ::listen(listener, 0) != 0) return false;
  // As many as its queue has room for, and more; what comes then is not answered.
  for (int i = 0; i < 4 && !takes_any; ++i) {
    const int one = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    static_cast<void>(::connect(one, at, sizeof address));
  }
  return true;
}

}  // namespace mortise::test
