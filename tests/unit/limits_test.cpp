// SPDX-License-Identifier: MIT
// Goal: a limit of this machine is `exhausted` on every backend, and never a store that is away.
// Method: each errno; then calls of real clients while this process has no descriptor left.
#include <mortise/mortise.hpp>
#include <mortise/postgres.hpp>
#include <mortise/redis.hpp>

#include "base/system_error.hpp"
#include "model/temporary.hpp"
#include "remote/stream/stream.hpp"
#include "support/eventually.hpp"
#include "support/no_descriptors.hpp"
#include "unit/remote_stream_fixture.hpp"

#include <gtest/gtest.h>

#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <system_error>

namespace mortise {
namespace {

using namespace std::chrono_literals;

TEST(Limits, AreExhaustedWhateverTheErrno) {
  for (const int error : {EMFILE, ENFILE, ENOMEM, ENOBUFS, ENOSPC, EDQUOT, EFBIG, ENOLCK}) {
    EXPECT_EQ(base::errc_of(error), Errc::exhausted) << error;
    const std::string words =
        "connection failed: could not create socket: " + std::generic_category().message(error);
    EXPECT_EQ(base::errc_of_words(words), Errc::exhausted) << words;
  }
  for (const int error : {0, ECONNREFUSED, ENETUNREACH, ETIMEDOUT, EACCES}) {
    EXPECT_EQ(base::errc_of(error), Errc::unavailable) << error;
    EXPECT_EQ(base::errc_of(error, Errc::misconfigured), Errc::misconfigured) << error;
  }
  EXPECT_EQ(base::errc_of_words("Connection refused"), Errc::unavailable);
}

/// @return why a lock cannot be had; `wanted`, as soon as it is that. A client that was refused
/// waits up to a second for the next try.
Errc reason_of(Lock& lock, Errc wanted, test::NoDescriptors* none = nullptr) {
  std::error_code ec;
  static_cast<void>(test::eventually([&] {
    if (none != nullptr) none->take_all();
    EXPECT_FALSE(lock.try_lock_for(50ms, ec));
    return ec == wanted;
  }));
  return static_cast<Errc>(ec.value());
}

Errc reason_without_descriptors(Lock& lock) {
  test::NoDescriptors none;
  return reason_of(lock, Errc::exhausted, &none);
}

TEST(Limits, OfDescriptorsAreToldByEveryBackend) {
  for (const char* const url :
       {"redis://127.0.0.1:1", "rediss://127.0.0.1:1", "redis+unix:///no/such.sock",
        "redis+sentinel://127.0.0.1:1,127.0.0.1:2/m", "redis+cluster://127.0.0.1:1",
        "redlock://127.0.0.1:1,127.0.0.1:2,127.0.0.1:3", "zookeeper://127.0.0.1:1",
        "postgresql://shop:x@127.0.0.1:1/x", "postgresql://shop@%2Fno%2Fsuch/x"}) {
    Client client(url);
    Lock lock = client.make_lock("a");
    // The client has all its own descriptors by then.
    ASSERT_EQ(reason_of(lock, Errc::unavailable), Errc::unavailable) << url;
    EXPECT_EQ(reason_without_descriptors(lock), Errc::exhausted) << url;
  }
}

TEST(Limits, OfDescriptorsAreToldOfFiles) {
  const model::TemporaryDirectory directory;
  std::filesystem::permissions(directory.path(), std::filesystem::perms::owner_all);
  Client client("file://" + directory.path());
  Lock first = client.make_lock("a");
  first.lock();
  first.unlock();
  Lock lock = client.make_lock("b");
  EXPECT_EQ(reason_without_descriptors(lock), Errc::exhausted);
}

TEST(Limits, OfDescriptorsAreToldOfTheConnectorOfAUser) {
  const Connector connector = [](const std::string&, std::uint16_t) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) throw std::system_error(errno, std::system_category(), "socket");
    ::close(fd);
    throw std::system_error(ECONNREFUSED, std::system_category(), "connect");
    return -1;
  };
  const auto fails = [](std::unique_ptr<Backend> backend) {
    Client client(std::move(backend));
    Lock lock = client.make_lock("a");
    ASSERT_EQ(reason_of(lock, Errc::unavailable), Errc::unavailable);
    EXPECT_EQ(reason_without_descriptors(lock), Errc::exhausted);
  };
  fails(redis::backend("redis://127.0.0.1:1", connector));
  fails(postgres::backend("postgresql://shop:x@127.0.0.1:1/x", connector));
}

/// In a network of its own with one port for connections. @return 77: no right to make one
int connect_twice_from_one_port() {
  if (::unshare(CLONE_NEWNET) != 0) return 77;
  ifreq loopback{};
  std::strcpy(loopback.ifr_name, "lo");
  loopback.ifr_flags = IFF_UP | IFF_RUNNING;
  const int any = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (::ioctl(any, SIOCSIFFLAGS, &loopback) != 0) return 77;
  if (!(std::ofstream("/proc/sys/net/ipv4/ip_local_port_range") << "40000 40000" << std::flush)) {
    return 77;
  }
  const remote::Listener listener;
  const auto first = remote::open_stream(listener.endpoint(), nullptr, "");
  while (first->advance() == remote::Stream::Status::again) {
  }
  const auto second = remote::open_stream(listener.endpoint(), nullptr, "");
  if (second->advance() != remote::Stream::Status::failed) return 1;
  return second->failure().code == Errc::exhausted ? 0 : 2;
}

TEST(Limits, OfPortsAreThoseOfThisMachine) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(connect_twice_from_one_port());
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "no right to make a network";
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace mortise
