// SPDX-License-Identifier: MIT
// Goal: a program that was started with its standard descriptors closed never prints into one of
// ours. Method: a forked child closes 0 to 2, opens what the library opens, and looks at them.
#include <mortise/mortise.hpp>

#include "base/handed_over.hpp"
#include "base/unique_fd.hpp"
#include "model/temporary.hpp"
#include "unit/remote_stream_fixture.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <exception>
#include <filesystem>
#include <stop_token>
#include <string>
#include <thread>

namespace mortise {
namespace {

using namespace std::chrono_literals;

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }
bool any_is_open() { return is_open(0) || is_open(1) || is_open(2); }

/// @return what `work` returns in a child without standard descriptors
template <class Work>
int without_standard_descriptors(Work work) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (const int fd : {0, 1, 2}) ::close(fd);
    try {
      ::_exit(work());
    } catch (const std::exception&) {
      ::_exit(99);
    }
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(StandardNumbers, AreNoneOfOurs) {
  EXPECT_EQ(without_standard_descriptors([] {
              const auto made = base::UniqueFd::open([] { return ::eventfd(0, EFD_CLOEXEC); });
              if (made.get() < 3 || any_is_open()) return 1;
              if ((::fcntl(made.get(), F_GETFD) & FD_CLOEXEC) == 0) return 2;
              // What a user's connector has made becomes ours, too.
              const auto taken = base::take_over(::socket(AF_INET, SOCK_STREAM, 0));
              return taken.get() < 3 || any_is_open() ? 3 : 0;
            }),
            0);
}

TEST(StandardNumbers, AreLeftToTheProgramWhenACLibraryMakesASocket) {
  EXPECT_EQ(without_standard_descriptors([] {
              int made = -1;
              {
                const auto borrowed = base::BorrowedFd::open(
                    [&] { return made = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); });
              }
              if (made < 3) return 1;
              return any_is_open() ? 2 : 0;
            }),
            0);
}

/// @return what stands there; a directory keeps the place while a descriptor is made
mode_t kind_of(int fd) {
  // Not fstat() and getsockopt(): a thread sanitizer counts those beside a close() as a race.
  struct statx file {};
  return ::statx(fd, "", AT_EMPTY_PATH, STATX_TYPE, &file) == 0 ? file.stx_mode & S_IFMT : S_IFDIR;
}

/// @return whether it is a connection. Not one of the C library, which asks nscd for a user.
bool is_connection(int fd) {
  int domain = AF_UNIX;
  socklen_t size = sizeof domain;
  return ::syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 &&
         domain != AF_UNIX;
}

/// Whether a connection, a timer or an event stands there at some moment of the call, or anything
/// behind it.
class Watch {
 public:
  [[nodiscard]] bool found() {
    thread_.request_stop();
    thread_.join();
    return found_ || kind_of(0) != S_IFDIR || kind_of(1) != S_IFDIR || kind_of(2) != S_IFDIR;
  }

 private:
  bool found_ = false;
  std::jthread thread_{[this](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      for (const int fd : {0, 1, 2}) {
        const mode_t kind = kind_of(fd);
        found_ = found_ || kind == 0 || is_connection(fd);
      }
    }
  }};
};

TEST(StandardNumbers, AreNoClientsOfAnyKind) {
  // It takes connections, and never answers.
  const remote::Listener listener;
  const model::TemporaryDirectory directory;
  std::filesystem::permissions(directory.path(), std::filesystem::perms::owner_all);
  const std::string place = listener.endpoint().text();
  for (const std::string& url :
       {std::string("memory:"), "file://" + directory.path(), "redis://" + place,
        "rediss://" + place + "?verify=no", "redis+sentinel://" + place + "/m",
        "redis+cluster://" + place, "redlock://" + place + ",127.0.0.2:1,127.0.0.3:1",
        "zookeeper://" + place, "postgresql://shop:x@" + place + "/x?sslmode=disable"}) {
    EXPECT_EQ(without_standard_descriptors([&] {
                Watch watch;
                Client client(url);
                Lock lock = client.make_lock("a");
                std::error_code ec;
                static_cast<void>(lock.try_lock_for(300ms, ec));
                return watch.found() ? 1 : 0;
              }),
              0)
        << url;
  }
}

}  // namespace
}  // namespace mortise
