// SPDX-License-Identifier: MIT
// Goal: a name server that is dead costs no call more than its time (L3, L4), and the message says
// which host it was. Method: a child process in name spaces of its own, whose only name server
// takes questions and never answers.
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

}  // namespace
}  // namespace mortise::fault
