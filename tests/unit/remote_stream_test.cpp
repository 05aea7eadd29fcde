// SPDX-License-Identifier: MIT
// Goal: a plain stream neither blocks nor raises a signal, tells an orderly end from a failure, and
// leaves nothing behind. Method: real sockets on loopback.
#include "model/temporary.hpp"
#include "remote/stream/stream.hpp"
#include "unit/remote_stream_fixture.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <fstream>

namespace mortise::remote {
namespace {

using Status = Stream::Status;

std::unique_ptr<Stream> open(const Endpoint& endpoint) {
  return open_stream(endpoint, nullptr, "");
}

Endpoint unix_socket(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  Endpoint endpoint;
  std::memcpy(&endpoint.address, &address, sizeof address);
  endpoint.length = sizeof address;
  return endpoint;
}

// A connected stream with its other end.
struct Pair {
  explicit Pair(const Listener& listener)
      : stream(open(listener.endpoint())), status(connect(*stream)), peer(listener.accept()) {}
  std::unique_ptr<Stream> stream;
  Status status;
  base::UniqueFd peer;

  [[nodiscard]] std::string read_at_peer(std::size_t size) const {
    std::string text(size, '\0');
    const ssize_t got = ::recv(peer.get(), text.data(), size, MSG_WAITALL);
    text.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
    return text;
  }
  void write_at_peer(std::string_view text) const {
    ASSERT_EQ(::send(peer.get(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
  void reset_by_peer() {
    const linger now{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(peer.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
    peer.reset();
  }
};

void expect_both_ways(const Listener& listener) {
  const Pair pair(listener);
  ASSERT_EQ(pair.status, Status::done);
  EXPECT_EQ(pair.stream->advance(), Status::done);
  EXPECT_EQ(pair.stream->interest(), 0);
  std::array<char, 8> buffer{};
  EXPECT_EQ(pair.stream->read(buffer).status, Status::again);
  EXPECT_EQ(write_all(*pair.stream, "PING"), Status::done);
  EXPECT_EQ(pair.read_at_peer(4), "PING");
  pair.write_at_peer("+PONG");
  std::string answer;
  EXPECT_EQ(read_all(*pair.stream, answer, 5), Status::done);
  EXPECT_EQ(answer, "+PONG");
  EXPECT_EQ(pair.stream->read({}).status, Status::again);
}

TEST(RemoteStreamTest, BytesGoBothWaysByTcp) { expect_both_ways(Listener()); }

TEST(RemoteStreamTest, BytesGoBothWaysByAUnixSocket) {
  const model::TemporaryDirectory directory;
  expect_both_ways(Listener(unix_socket(directory.file("socket"))));
}

TEST(RemoteStreamTest, TheSocketIsSetUpAsALibraryNeedsIt) {
  const Listener listener;
  const Pair pair(listener);
  const int fd = pair.stream->descriptor();
  EXPECT_NE(::fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
  int value = 0;
  socklen_t size = sizeof value;
  ASSERT_EQ(::getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &value, &size), 0);
  EXPECT_NE(value, 0);
  ASSERT_EQ(::getsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &value, &size), 0);
  EXPECT_NE(value, 0);
  EXPECT_EQ(pair.stream->endpoint().text(), listener.endpoint().text());
}

TEST(RemoteStreamTest, ReadingSoonSleepsForAMoment) {
  const Pair pair{Listener()};
  std::array<char, 8> buffer{};
  EXPECT_LT(
      test::duration_of([&] { EXPECT_EQ(pair.stream->read_soon(buffer).status, Status::again); }),
      std::chrono::seconds(2));
  pair.write_at_peer("+PONG");
  Stream::Moved moved{};
  EXPECT_TRUE(test::eventually([&] {
    moved = pair.stream->read_soon(buffer);
    return moved.status != Status::again;
  }));
  EXPECT_EQ(moved.status, Status::done);
  EXPECT_EQ(moved.bytes, 5U);
  // Nothing else has begun to sleep.
  EXPECT_LT(test::best_of(20, std::chrono::milliseconds(1),
                          [&] {
                            return test::duration_of([&] {
                              EXPECT_EQ(pair.stream->read(buffer).status, Status::again);
                            });
                          }),
            std::chrono::milliseconds(1));
}

/// Signals this process again and again, as a profiler does, and more often than a read sleeps.
class Profiler {
 public:
  static constexpr int most = 4'000;  // in two seconds
  Profiler() {
    signals_.store(0);
    struct sigaction ours {};
    ours.sa_handler = [](int) {
      if (signals_.fetch_add(1) + 1 == most) signal_every(0);
    };
    ours.sa_flags = SA_RESTART;
    ::sigaction(SIGALRM, &ours, &before_);
    signal_every(500);
  }
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;
  ~Profiler() {
    signal_every(0);
    ::sigaction(SIGALRM, &before_, nullptr);
  }
  [[nodiscard]] static int signals() noexcept { return signals_.load(); }

 private:
  static void signal_every(suseconds_t microseconds) noexcept {
    const timeval time{.tv_sec = 0, .tv_usec = microseconds};
    const itimerval timer{.it_interval = time, .it_value = time};
    ::setitimer(ITIMER_REAL, &timer, nullptr);
  }
  inline static std::atomic<int> signals_{0};
  struct sigaction before_ {};
};

// A caller's time was up, and it slept on, for as long as a profiler signalled its thread. A signal
// in the last tick of a sleep ends it for good, and where a tick is as long as the sleep each is
// the last: so it is longer here than any tick.
TEST(RemoteStreamTest, ReadingSoonSleepsForAMomentAlsoWhereSignalsKeepComing) {
  const Pair pair{Listener()};
  const timeval many_ticks{.tv_sec = 1, .tv_usec = 0};
  ASSERT_EQ(::setsockopt(pair.stream->descriptor(), SOL_SOCKET, SO_RCVTIMEO, &many_ticks,
                         sizeof many_ticks),
            0);
  std::array<char, 8> buffer{};
  const Profiler profiler;
  EXPECT_EQ(pair.stream->read_soon(buffer).status, Status::again);
  EXPECT_LT(Profiler::signals(), Profiler::most) << "it has slept as long as they came";
}

TEST(RemoteStreamTest, ARefusedConnectionFails) {
  Endpoint nobody;
  { nobody = Listener().endpoint(); }
  const auto stream = open(nobody);
  EXPECT_EQ(connect(*stream), Status::failed);
  EXPECT_EQ(stream->advance(), Status::failed);
  EXPECT_EQ(stream->failure().code, Errc::unavailable);
  EXPECT_NE(stream->failure().text.find(nobody.text() + ": Connection refused"), std::string::npos)
      << stream->failure().text;
}

TEST(RemoteStreamTest, AMissingUnixSocketFails) {
  const model::TemporaryDirectory directory;
  const auto stream = open(unix_socket(directory.file("socket")));
  EXPECT_EQ(connect(*stream), Status::failed);
  EXPECT_EQ(stream->failure().code, Errc::unavailable);
  EXPECT_NE(stream->failure().text.find(directory.file("socket")), std::string::npos);
}

TEST(RemoteStreamTest, AFullBacklogOfAUnixSocketFails) {
  const model::TemporaryDirectory directory;
  const Listener listener(unix_socket(directory.file("socket")), 0);
  std::vector<std::unique_ptr<Stream>> streams;
  do {
    streams.push_back(open(listener.endpoint()));
  } while (connect(*streams.back()) == Status::done && streams.size() < 100);
  EXPECT_EQ(streams.back()->advance(), Status::failed);
  EXPECT_EQ(streams.back()->failure().code, Errc::unavailable);
}

// A free port of those that the kernel gives to the near end of connections: of every second one
// from the lowest on, and one after the other, so that each has its turn.
std::optional<Endpoint> port_that_meets_itself() {
  std::uint16_t lowest = 0;
  std::ifstream("/proc/sys/net/ipv4/ip_local_port_range") >> lowest;
  for (int tries = 0; tries < 100; ++tries) {
    try {
      const auto port = static_cast<std::uint16_t>(lowest + 1'000 + 2 * tries);
      return Listener(loopback(port)).endpoint();
    } catch (const std::runtime_error&) {
      continue;  // taken
    }
  }
  return std::nullopt;
}

TEST(RemoteStreamTest, AConnectionToItselfIsNone) {
  const std::optional<Endpoint> nobody = port_that_meets_itself();
  if (!nobody) GTEST_SKIP() << "no free port: all linger after other connections";
  for (int i = 0; i < 60'000; ++i) {
    const auto stream = open(*nobody);
    ASSERT_EQ(connect(*stream), Status::failed) << "after " << i;
  }
}

TEST(RemoteStreamTest, AnOrderlyEndIsNoFailure) {
  Pair pair{Listener()};
  pair.write_at_peer("bye");
  pair.peer.reset();
  std::string last;
  EXPECT_EQ(read_all(*pair.stream, last, 4), Status::closed);
  EXPECT_EQ(last, "bye");
  EXPECT_EQ(pair.stream->failure().code, Errc::unavailable);
  EXPECT_EQ(pair.stream->failure().text, "the server closed the connection");
}

TEST(RemoteStreamTest, AResetIsAFailure) {
  Pair pair{Listener()};
  pair.reset_by_peer();
  EXPECT_EQ(read_to_the_end(*pair.stream), Status::failed);
  EXPECT_EQ(pair.stream->failure().code, Errc::unavailable);
  EXPECT_NE(pair.stream->failure().text.find("reset"), std::string::npos);
}

TEST(RemoteStreamTest, WritingToAClosedPeerRaisesNoSignal) {
  Pair pair{Listener()};
  pair.peer.reset();
  const auto before = std::signal(SIGPIPE, SIG_DFL);  // it would end this process
  Status status = Status::done;
  EXPECT_TRUE(test::eventually([&] {
    status = pair.stream->write(std::string_view("PING")).status;
    return status != Status::done;
  }));
  EXPECT_EQ(pair.stream->write(std::string_view("PING")).status, Status::failed);
  std::signal(SIGPIPE, before);
  EXPECT_EQ(status, Status::failed);
  EXPECT_EQ(pair.stream->failure().code, Errc::unavailable);
}

std::size_t fill(Stream& stream) {
  const std::string chunk(100'000, 'x');
  std::size_t sum = 0;
  for (;;) {
    const Stream::Moved moved = stream.write({chunk.data(), chunk.size()});
    if (moved.status != Status::done) return moved.status == Status::again ? sum : 0;
    sum += moved.bytes;
  }
}

TEST(RemoteStreamTest, AFullSocketAsksToComeAgain) {
  const Pair pair{Listener()};
  const std::size_t sum = fill(*pair.stream);
  ASSERT_GT(sum, 0U);
  EXPECT_EQ(pair.read_at_peer(sum).size(), sum);
  EXPECT_TRUE(wait_for(pair.stream->descriptor(), POLLOUT));
  EXPECT_EQ(write_all(*pair.stream, "more"), Status::done);
}

TEST(RemoteStreamTest, WhatWasNotSentIsDropped) {
  Pair pair{Listener()};
  const std::size_t sum = fill(*pair.stream);
  ASSERT_GT(sum, 0U);
  pair.stream.reset();
  // An orderly close would deliver all of it, and then an end.
  std::string text(1 << 16, '\0');
  std::size_t arrived = 0;
  ssize_t got = 0;
  while ((got = ::recv(pair.peer.get(), text.data(), text.size(), 0)) > 0) {
    arrived += static_cast<std::size_t>(got);
  }
  EXPECT_EQ(got, -1);
  EXPECT_EQ(errno, ECONNRESET);
  EXPECT_LT(arrived, sum);
}

TEST(RemoteStreamTest, WithoutADescriptorItFails) {
  const Listener listener;
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto stream = open(listener.endpoint());
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(stream->advance(), Status::failed);
  EXPECT_EQ(stream->failure().code, Errc::exhausted);
}

TEST(RemoteStreamTest, AForkedChildDoesNotEndIt) {
  const Pair pair{Listener()};
  const pid_t child = ::fork();
  if (child == 0) {
    const_cast<Pair&>(pair).stream.reset();
    ::_exit(0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(write_all(*pair.stream, "PING"), Status::done);
  EXPECT_EQ(pair.read_at_peer(4), "PING");
}

}  // namespace
}  // namespace mortise::remote
