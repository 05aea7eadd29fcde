// SPDX-License-Identifier: MIT
// Goal: a name server that is dead costs no call more than its time (L3, L4), and the message says
// which host it was; of a name with two addresses a dead one does not stand for the other (L7).
// Method: a child process in name spaces of its own, whose only name server takes questions and
// never answers, or whose hosts are written by the test.
#include "base/resolver.hpp"
#include "fault/redis_fixture.hpp"
#include "model/process.hpp"
#include "support/contract_process.hpp"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <fstream>

namespace mortise::fault {
namespace {

constexpr int not_possible = 77;
constexpr const char* host = "redis.nowhere.example";

/// Whether from now on this process has a network of its own with nothing in it but a socket that
/// swallows questions for names.
bool enter_a_world_without_names(const std::string& resolv_conf) {
  if (::unshare(CLONE_NEWNS | CLONE_NEWNET) != 0) return false;
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
  std::ofstream(resolv_conf) << "nameserver 127.0.0.1\noptions timeout:30 attempts:5\n";
  if (::mount(resolv_conf.c_str(), "/etc/resolv.conf", nullptr, MS_BIND, nullptr) != 0) {
    return false;
  }
  const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  ifreq loopback{};
  std::strncpy(loopback.ifr_name, "lo", sizeof loopback.ifr_name - 1);
  loopback.ifr_flags = IFF_UP | IFF_RUNNING;
  if (::ioctl(fd, SIOCSIFFLAGS, &loopback) != 0) return false;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(53);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  // Kept open until the process ends.
  return ::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
}

struct Findings {
  std::atomic<std::int64_t> try_lock_for{0};
  std::atomic<std::int64_t> check{0};
  std::atomic<std::int64_t> close{0};
  std::atomic<bool> unavailable{false};
  std::atomic<bool> names_the_host{false};
};

TEST(RedisResolving, ADeadNameServerCostsNoCallMoreThanItsTime) {
  const contract::Shared<Findings> found;
  const model::TemporaryDirectory directory;
  model::Process child = model::Process::fork_child([&] {
    if (!enter_a_world_without_names(directory.file("resolv.conf"))) return not_possible;
    std::optional<Client> mine(std::string("redis://") + host);
    Lock lock = mine->lock("a");
    std::error_code error;
    found->try_lock_for =
        duration_of([&] { static_cast<void>(lock.try_lock_for(200ms, error)); }).count();
    Failure failure;
    found->check = duration_of([&] { failure = failure_of([&] { mine->check(300ms); }); }).count();
    found->unavailable = error == Errc::unavailable && failure.code == Errc::unavailable;
    found->names_the_host = failure.text.find(host) != std::string::npos;
    found->close = duration_of([&] { mine->close(); }).count();
    return 0;
  });
  const auto exit = child.wait_for(20s);
  ASSERT_TRUE(exit) << "it hangs";
  if (exit->code == not_possible) GTEST_SKIP() << "name spaces of its own need rights";
  ASSERT_EQ(exit->code, 0);
  EXPECT_LT(std::chrono::nanoseconds(found->try_lock_for), 200ms + allowance + slack);
  EXPECT_GE(std::chrono::nanoseconds(found->try_lock_for), 200ms) << "a name was resolved, or not";
  EXPECT_LT(std::chrono::nanoseconds(found->check), 300ms + allowance + slack);
  EXPECT_LT(std::chrono::nanoseconds(found->close), 2s + slack);
  EXPECT_TRUE(found->unavailable);
  EXPECT_TRUE(found->names_the_host);
}

constexpr const char* two = "redis.two.example";
// Neither is 127.0.0.1, which the C library puts first.
constexpr const char* dead_address = "127.0.0.2";
constexpr const char* other_address = "127.0.0.3";

/// A server at the dead address, until this process ends: it takes connections and never says a
/// word; or takes none, and refuses none.
bool keep_silent(std::uint16_t port, bool takes_any) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  ::inet_pton(AF_INET, dead_address, &address.sin_addr);
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

/// From now on that name has two addresses for this process, and the dead one comes first.
bool name_two(const std::string& hosts) {
  if (::unshare(CLONE_NEWNS) != 0) return false;
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
  std::ofstream(hosts) << dead_address << ' ' << two << '\n' << other_address << ' ' << two << '\n';
  if (::mount(hosts.c_str(), "/etc/hosts", nullptr, MS_BIND, nullptr) != 0) return false;
  base::Resolver resolver;
  resolver.start(base::Address{.host = two, .port = 1});
  std::optional<base::Resolution> found;
  if (!eventually([&] { return (found = resolver.take()).has_value(); })) return false;
  return found->endpoints.size() == 2 &&
         found->endpoints.front().text() == std::string(dead_address) + ":1";
}

class RedisAddresses : public RedisTest, public ::testing::WithParamInterface<bool> {};

// Promise: L7
TEST_P(RedisAddresses, ASilentOneLeavesTheNextOneItsTime) {
  RedisServerOptions options;
  options.lines = {std::string("bind 127.0.0.1 ") + other_address};
  const std::uint16_t port = server(options).port();
  const model::TemporaryDirectory directory;
  model::Process child = model::Process::fork_child([&] {
    if (!name_two(directory.file("hosts"))) return not_possible;
    if (!keep_silent(port, GetParam())) return not_possible;
    Client mine("redis://" + std::string(two) + ":" + std::to_string(port));
    Lock lock = mine.lock("a");
    std::error_code error;
    return lock.try_lock_for(10s, error) ? 0 : 1;
  });
  const auto exit = child.wait_for(20s);
  ASSERT_TRUE(exit) << "it hangs";
  if (exit->code == not_possible) GTEST_SKIP() << "name spaces of its own need rights";
  EXPECT_EQ(exit->code, 0) << "the second address was never reached";
}

INSTANTIATE_TEST_SUITE_P(, RedisAddresses, ::testing::Bool(), [](const auto& which) {
  return std::string(which.param ? "ThatTakesConnections" : "ThatTakesNone");
});

}  // namespace
}  // namespace mortise::fault
