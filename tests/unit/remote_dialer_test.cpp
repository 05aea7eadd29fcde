// SPDX-License-Identifier: MIT
// Goal: whatever a connector of the user's does, nobody of ours waits for it, and each descriptor
// that it gives is used or closed. Method: connectors that throw, hang and give what is of no use.
#include "remote/dialer.hpp"
#include "unit/remote_stream_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>

#if defined(__SANITIZE_ADDRESS__)
#define MORTISE_LEAKS_ARE_FOUND
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MORTISE_LEAKS_ARE_FOUND
#endif
#endif
#ifdef MORTISE_LEAKS_ARE_FOUND
#include <sanitizer/lsan_interface.h>
#endif

namespace mortise::remote {
namespace {

using test::eventually;
using ::testing::HasSubstr;

const base::Address somewhere{.host = "redis.internal", .port = 6379, .path = {}};

/// Hangs until it is let go.
struct Gate {
  std::mutex mutex;
  std::condition_variable opened;
  bool open = false;
  void wait() {
    std::unique_lock lock(mutex);
    opened.wait(lock, [this] { return open; });
  }
  void let_go() {
    const std::lock_guard lock(mutex);
    open = true;
    opened.notify_all();
  }
};

std::unique_ptr<Dialer> dialer(Connector connector, const base::Address& address = somewhere,
                               std::chrono::nanoseconds kept = Dialer::kept_for) {
  return std::make_unique<Dialer>(std::make_shared<const Connector>(std::move(connector)), address,
                                  kept);
}

Dialed dial(Dialer& dialer) {
  dialer.start();
  if (!wait_for(dialer.descriptor(), POLLIN)) throw std::runtime_error("no answer");
  std::optional<Dialed> dialed = dialer.take();
  if (!dialed) throw std::runtime_error("nothing to take");
  EXPECT_FALSE(dialer.take());
  return std::move(*dialed);
}

std::string words_for(Connector connector) {
  const auto mine = dialer(std::move(connector));
  const Dialed dialed = dial(*mine);
  EXPECT_FALSE(dialed.socket);
  return dialed.error;
}

struct Ends {
  Ends() { EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0); }
  ~Ends() { ::close(ends[1]); }
  Ends(const Ends&) = delete;
  Ends& operator=(const Ends&) = delete;
  /// @return whether the other end was closed.
  [[nodiscard]] bool hung_up() const {
    char byte = 0;
    return ::recv(ends[1], &byte, 1, MSG_DONTWAIT) == 0;
  }
  int ends[2] = {-1, -1};
};

TEST(RemoteDialerTest, HandsOverASocketSetUpAsOurs) {
  Ends pair;
  std::string host;
  std::uint16_t port = 0;
  const auto mine = dialer([&](const std::string& to, std::uint16_t at) {
    host = to;
    port = at;
    return pair.ends[0];
  });
  {
    const Dialed dialed = dial(*mine);
    EXPECT_EQ(dialed.error, "");
    EXPECT_EQ(dialed.socket.get(), pair.ends[0]);
    EXPECT_NE(::fcntl(pair.ends[0], F_GETFL) & O_NONBLOCK, 0);
    EXPECT_NE(::fcntl(pair.ends[0], F_GETFD) & FD_CLOEXEC, 0);
    EXPECT_FALSE(pair.hung_up());
  }
  EXPECT_TRUE(pair.hung_up()) << "it is ours to close";
  EXPECT_EQ(host, "redis.internal");
  EXPECT_EQ(port, 6379);
}

TEST(RemoteDialerTest, OfAUnixSocketItGetsThePath) {
  std::string host;
  std::uint16_t port = 1;
  const auto mine = dialer(
      [&](const std::string& to, std::uint16_t at) {
        host = to;
        port = at;
        return -1;
      },
      {.host = {}, .port = 7, .path = "/run/redis.sock"});
  static_cast<void>(dial(*mine));
  EXPECT_EQ(host, "/run/redis.sock");
  EXPECT_EQ(port, 0);
}

TEST(RemoteDialerTest, WhatIsThrownAreTheWords) {
  EXPECT_EQ(
      words_for([](const auto&, auto) -> int { throw std::runtime_error("the tunnel is shut"); }),
      "the tunnel is shut");
  EXPECT_THAT(words_for([](const auto&, auto) -> int { throw 7; }),
              HasSubstr("not a std::exception"));
  EXPECT_NE(words_for([](const auto&, auto) -> int { throw std::runtime_error(""); }), "");
  EXPECT_EQ(words_for([](const auto&, auto) -> int {
              throw std::runtime_error("two\nlines" + std::string(1'000, 'x'));
            }),
            "two lines" + std::string(231, 'x'));
  EXPECT_EQ(words_for([](const auto&, auto) -> int {
              throw std::runtime_error(std::string(239, 'x') + "\u00e9 and more");
            }),
            std::string(239, 'x'))
      << "no half of a character";
  struct Mute : std::exception {
    [[nodiscard]] const char* what() const noexcept override { return nullptr; }
  };
  EXPECT_NE(words_for([](const auto&, auto) -> int { throw Mute(); }), "");
}

TEST(RemoteDialerTest, OneThatEndsItsThreadHasFailed) {
  EXPECT_EQ(words_for([](const auto&, auto) -> int { ::pthread_exit(nullptr); }), "thread ended");
}

TEST(RemoteDialerTest, WhatIsOfNoUseIsSaidToBe) {
  EXPECT_THAT(words_for([](const auto&, auto) { return -1; }), HasSubstr("no descriptor"));
  EXPECT_THAT(words_for([](const auto&, auto) {
                const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
                ::close(fd);
                return fd;
              }),
              HasSubstr("not a socket: Bad file descriptor"));
  int datagrams = -1;
  EXPECT_THAT(words_for([&](const auto&, auto) {
                return datagrams = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
              }),
              HasSubstr("not a stream socket"));
  EXPECT_EQ(::fcntl(datagrams, F_GETFD), -1) << "it is closed";
  EXPECT_THAT(
      words_for([](const auto&, auto) { return ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); }),
      HasSubstr("not connected"));
  EXPECT_THAT(words_for([](const auto&, auto) {
                const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
                ::listen(fd, 1);
                return fd;
              }),
              HasSubstr("not connected"));
  const int file = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  EXPECT_THAT(words_for([&](const auto&, auto) { return file; }), HasSubstr("not a socket"));
  EXPECT_EQ(::close(file), 0) << "what is no socket is left alone";
}

TEST(RemoteDialerTest, OneThatHangsIsWaitedForAgainAndNotCalledTwice) {
  const auto gate = std::make_shared<Gate>();
  const auto calls = std::make_shared<std::atomic<int>>(0);
  Ends pair;
  const auto mine = dialer([=, fd = pair.ends[0]](const auto&, auto) {
    ++*calls;
    gate->wait();
    return fd;
  });
  mine->start();
  ASSERT_TRUE(eventually([&] { return *calls == 1; }));
  EXPECT_FALSE(mine->take());
  mine->start();
  EXPECT_FALSE(mine->take());
  gate->let_go();
  ASSERT_TRUE(wait_for(mine->descriptor(), POLLIN));
  EXPECT_EQ(mine->take()->socket.get(), pair.ends[0]);
  EXPECT_EQ(*calls, 1);
}

// It would be called for ever otherwise, and in vain, by one who always gives up a little earlier.
TEST(RemoteDialerTest, WhatComesBetweenTwoTriesIsTheNextOnes) {
  const auto gate = std::make_shared<Gate>();
  const auto calls = std::make_shared<std::atomic<int>>(0);
  Ends pair;
  const auto mine = dialer([=, fd = pair.ends[0]](const auto&, auto) {
    ++*calls;
    gate->wait();
    return fd;
  });
  mine->start();
  mine->rest();
  gate->let_go();
  ASSERT_TRUE(wait_for(mine->descriptor(), POLLIN));
  mine->rest();
  mine->start();
  ASSERT_TRUE(wait_for(mine->descriptor(), POLLIN));
  EXPECT_EQ(mine->take()->socket.get(), pair.ends[0]);
  EXPECT_EQ(*calls, 1);
}

// Who wants no connection any more is not polled, and nobody would close it.
TEST(RemoteDialerTest, WhatNobodyComesForIsClosedInTime) {
  Ends pairs[2];
  const auto calls = std::make_shared<std::atomic<int>>(0);
  const auto mine = dialer([=, one = pairs[0].ends[0], two = pairs[1].ends[0]](
                               const auto&, auto) { return ++*calls == 1 ? one : two; },
                           somewhere, std::chrono::milliseconds(20));
  mine->start();
  ASSERT_TRUE(wait_for(mine->descriptor(), POLLIN));
  mine->rest();
  EXPECT_TRUE(eventually([&] { return pairs[0].hung_up(); }));
  mine->rest();
  EXPECT_EQ(mine->descriptor(), -1);
  EXPECT_EQ(dial(*mine).socket.get(), pairs[1].ends[0]) << "the next one is another one";
}

TEST(RemoteDialerTest, WhatIsForgottenIsClosedAndTheNextCallIsAnotherOne) {
  const auto gate = std::make_shared<Gate>();
  Ends pairs[2];
  const auto calls = std::make_shared<std::atomic<int>>(0);
  const auto mine = dialer([=, one = pairs[0].ends[0], two = pairs[1].ends[0]](const auto&, auto) {
    const int call = ++*calls;
    gate->wait();
    return call == 1 ? one : two;
  });
  mine->start();
  ASSERT_TRUE(eventually([&] { return *calls == 1; }));
  mine->forget();
  EXPECT_EQ(mine->descriptor(), -1);
  gate->let_go();
  EXPECT_TRUE(eventually([&] { return pairs[0].hung_up(); }));
  const Dialed dialed = dial(*mine);
  EXPECT_EQ(dialed.socket.get(), pairs[1].ends[0]);
  mine->rest();
  EXPECT_EQ(mine->descriptor(), -1) << "it needs none between its calls";
}

TEST(RemoteDialerTest, WhatTheLibraryHasAlreadyIsRefused) {
  Ends pair;
  const auto mine = dialer([fd = pair.ends[0]](const auto&, auto) { return fd; });
  const Dialed first = dial(*mine);
  ASSERT_TRUE(first.socket);
  EXPECT_THAT(dial(*mine).error, HasSubstr("already in use"));
  int copy = -1;
  EXPECT_THAT(words_for([&](const auto&, auto) { return copy = ::dup(pair.ends[0]); }),
              HasSubstr("already in use"))
      << "two who read one stream take each other's answers";
  EXPECT_EQ(::fcntl(copy, F_GETFD), -1) << "that one is closed";
  EXPECT_FALSE(pair.hung_up()) << "and the first is not";
}

TEST(RemoteDialerTest, ClosingTakesNoTime) {
  Ends pair;
  const linger long_time{.l_onoff = 1, .l_linger = 60};
  ::setsockopt(pair.ends[0], SOL_SOCKET, SO_LINGER, &long_time, sizeof long_time);
  const auto mine = dialer([fd = pair.ends[0]](const auto&, auto) { return fd; });
  const Dialed dialed = dial(*mine);
  linger set{};
  socklen_t size = sizeof set;
  ASSERT_EQ(::getsockopt(dialed.socket.get(), SOL_SOCKET, SO_LINGER, &set, &size), 0);
  EXPECT_EQ(set.l_onoff, 0);
}

TEST(RemoteDialerTest, WhatComesAfterItsEndIsClosed) {
  const auto gate = std::make_shared<Gate>();
  const auto calls = std::make_shared<std::atomic<int>>(0);
  Ends pair;
  auto mine = dialer([=, fd = pair.ends[0]](const auto&, auto) {
    ++*calls;
    gate->wait();
    return fd;
  });
  mine->start();
  ASSERT_TRUE(eventually([&] { return *calls == 1; }));
  mine.reset();
  EXPECT_FALSE(pair.hung_up());
  gate->let_go();
  EXPECT_TRUE(eventually([&] { return pair.hung_up(); }));
}

TEST(RemoteDialerTest, WhatNobodyTakesIsClosed) {
  Ends pair;
  auto mine = dialer([fd = pair.ends[0]](const auto&, auto) { return fd; });
  mine->start();
  ASSERT_TRUE(wait_for(mine->descriptor(), POLLIN));
  mine.reset();
  EXPECT_TRUE(pair.hung_up());
}

TEST(RemoteDialerTest, SignalsAreNotForItsThread) {
  sigset_t blocked{};
  const auto mine = dialer([&](const auto&, auto) {
    ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    return -1;
  });
  static_cast<void>(dial(*mine));
  EXPECT_EQ(sigismember(&blocked, SIGTERM), 1);
  // But what it has done itself: a virtual machine that it enters lives by that, and a fault that
  // is blocked ends the program.
  EXPECT_EQ(sigismember(&blocked, SIGSEGV), 0);
  EXPECT_EQ(sigismember(&blocked, SIGFPE), 0);
}

// The code that a connector comes back to must be there still.
TEST(RemoteDialerTest, WhatItRunsInIsNotUnloadedBeforeItEnds) {
#ifdef MORTISE_LEAKS_ARE_FOUND
  // The plugin's own clock and what it does on a fork last until the process ends, as in a program
  // (there may be threads that use them), and only the plugin's data, which goes with it, knows
  // them.
  const __lsan::ScopedDisabler for_its_life;
#endif
  const std::string path = std::string(MORTISE_BIN_DIR) + "/libmortise_dialer_plugin.so";
  void* const plugin = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(plugin, nullptr) << ::dlerror();
  std::atomic<int> step{0};
  const auto begin = reinterpret_cast<void (*)(std::atomic<int>*)>(::dlsym(plugin, "begin"));
  ASSERT_NE(begin, nullptr);
  begin(&step);
  ASSERT_TRUE(eventually([&] { return step == 1; }));
  ASSERT_EQ(::dlclose(plugin), 0);
  void* const still = ::dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
  EXPECT_NE(still, nullptr) << "it returns to nowhere";
  if (still == nullptr) return;
  step = 2;
  EXPECT_TRUE(eventually([&] { return step == 3; }));
  ::dlclose(still);
}

TEST(RemoteDialerTest, AForkedChildHasNoneOfIt) {
  const auto gate = std::make_shared<Gate>();
  Ends pair;
  const auto calls = std::make_shared<std::atomic<int>>(0);
  auto mine = dialer([=, fd = pair.ends[0]](const auto&, auto) {
    if (++*calls == 1) return fd;
    gate->wait();
    return -1;
  });
  const Dialed dialed = dial(*mine);
  mine->start();
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);  // where it hangs
    mine.reset();
    ::_exit(::fcntl(pair.ends[0], F_GETFD) == -1 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  gate->let_go();
}

}  // namespace
}  // namespace mortise::remote
