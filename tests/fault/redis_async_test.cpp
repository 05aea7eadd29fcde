// SPDX-License-Identifier: MIT
// Goal: a program that drives its client needs no second thread and is never held up, whatever the
// server does (L3). Method: coroutines on a client without threads, next to a Redis that stands
// still; counts of threads; the time of each `poll()`.
#include "fault/redis_fixture.hpp"
#include "support/detached.hpp"
#include "support/own_time.hpp"

#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace mortise::fault {
namespace {

using namespace std::chrono_literals;
using test::Detached;
using test::driven_until;

std::ptrdiff_t thread_count() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

class RedisAsync : public RedisTest {
 protected:
  [[nodiscard]] Client driven() { return client({.drive = Drive::program}); }
};

struct Takers {
  int inside = 0;
  int most = 0;
  int over = 0;
  int failed = 0;
};

Detached take_turn(Client& client, Takers& takers) {
  Guard guard = co_await client.make_lock("name").acquire_async();
  if (!guard) ++takers.failed;
  takers.most = std::max(takers.most, ++takers.inside);
  co_await client.make_lock("other name").acquire_async(0ms);  // others run meanwhile
  --takers.inside;
  co_await guard.unlock_async();
  ++takers.over;
}

// Promise: S1, L2
TEST_F(RedisAsync, AThousandCoroutinesOfOneThreadTakeTurns) {
  Client one = driven();
  Client other = driven();
  Takers takers;
  constexpr int many = 500;
  for (int i = 0; i < many; ++i) {
    take_turn(one, takers);
    take_turn(other, takers);
  }
  const std::ptrdiff_t before = thread_count();
  std::ptrdiff_t most = before;
  const auto all_are_over = [&] {
    for (Client* const client : {&one, &other}) {
      pollfd readable{.fd = client->descriptor(), .events = POLLIN, .revents = 0};
      ::poll(&readable, 1, 1);
      client->poll();
    }
    most = std::max(most, thread_count());
    return takers.over == 2 * many;
  };
  // A thousand hand-overs, each with a wake-up of this thread: long on a loaded machine.
  const bool all = eventually(all_are_over, 10 * patience);
  EXPECT_TRUE(all) << takers.over;
  EXPECT_EQ(takers.most, 1);
  EXPECT_EQ(takers.failed, 0);
  EXPECT_EQ(most, before) << "a client without threads has started one";
  expect_free("name");
}

TEST_F(RedisAsync, TheDescriptorRestsWhenThereIsNothingToDo) {
  Client one = driven();
  std::optional<Guard> held;
  one.make_lock("name").acquire_async().start([&](Guard guard) { held = std::move(guard); });
  ASSERT_TRUE(driven_until(one, [&] { return held.has_value(); }));
  int awake = 0;
  for (int i = 0; i < 20; ++i) {
    pollfd readable{.fd = one.descriptor(), .events = POLLIN, .revents = 0};
    if (::poll(&readable, 1, 20) > 0) ++awake;
    one.poll();
  }
  EXPECT_LE(awake, 5) << "the loop turns without a reason";
}

// Promise: L3
TEST_F(RedisAsync, AServerThatStandsStillDoesNotHoldUpTheProgram) {
  Client one = driven();
  std::vector<Guard> held;
  Takers takers;
  for (const char* const name : {"a", "b"}) {
    one.make_lock(name).acquire_async().start([&](Guard guard) {
      ASSERT_TRUE(guard) << guard.error_text();
      held.push_back(std::move(guard));
    });
  }
  ASSERT_TRUE(driven_until(one, [&] { return held.size() == 2; }));
  server().stop();
  std::chrono::nanoseconds longest{0};
  const auto timed = [&](auto work) {
    longest = std::max<std::chrono::nanoseconds>(longest, test::own_duration_of(work));
  };
  std::optional<Released> outcome;
  std::optional<std::error_code> timed_out;
  timed([&] { held.pop_back(); });
  timed([&] { held.front().unlock_async().start([&](Released found) { outcome = found; }); });
  timed([&] {
    one.make_lock("c").acquire_async({.wait = 300ms}).start([&](const Guard& guard) {
      timed_out = guard.error();
    });
  });
  for (int i = 0; i < 8; ++i) take_turn(one, takers);
  const auto until = std::chrono::steady_clock::now() + 2s;
  while (std::chrono::steady_clock::now() < until) {
    pollfd readable{.fd = one.descriptor(), .events = POLLIN, .revents = 0};
    ::poll(&readable, 1, 20);
    timed([&] { one.poll(); });
  }
  EXPECT_LT(longest, 50ms);
  EXPECT_TRUE(timed_out.has_value()) << "the wait has no limit";
  EXPECT_EQ(outcome, Released::unknown);
  server().resume();
  EXPECT_TRUE(driven_until(one, [&] { return takers.over == 8; })) << takers.over;
  EXPECT_EQ(takers.most, 1);
  EXPECT_EQ(takers.failed, 0);
  for (const char* const name : {"a", "b", "c", "name"}) {
    EXPECT_TRUE(driven_until(one, [&] { return !is_held(name); })) << name;
  }
}

/// Has the kernel end this process if one of its threads waits for another one, sleeps, or starts
/// one. @return false: the kernel refuses that
bool forbid_waits_and_threads() {
  constexpr std::uint32_t number = offsetof(seccomp_data, nr);
  constexpr std::uint32_t second_argument = offsetof(seccomp_data, args) + sizeof(std::uint64_t);
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, number),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_nanosleep, 8, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_nanosleep, 7, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 6, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 5, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex, 0, 5),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, second_argument),
      BPF_STMT(BPF_ALU | BPF_AND | BPF_K, static_cast<std::uint32_t>(FUTEX_CMD_MASK)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, FUTEX_WAIT, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, FUTEX_WAIT_BITSET, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog all{.len = static_cast<unsigned short>(std::size(program)), .filter = program};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all) == 0;
}

/// The child of the test below. @return its exit status
int work_without_waits(const std::string& url, int stand_still, int stands_still) {
  if (!forbid_waits_and_threads()) return 77;
  Client one(url, {.drive = Drive::program});
  Client other(url, {.drive = Drive::program});
  Takers takers;
  constexpr int many = 50;
  const auto drive_until = [&](auto condition) {
    const auto until = std::chrono::steady_clock::now() + test::patience;
    while (!condition() && std::chrono::steady_clock::now() < until) {
      pollfd readable[] = {{.fd = one.descriptor(), .events = POLLIN, .revents = 0},
                           {.fd = other.descriptor(), .events = POLLIN, .revents = 0}};
      ::poll(readable, 2, 20);
      one.poll();
      other.poll();
    }
    return condition();
  };
  for (int i = 0; i < many; ++i) {
    take_turn(one, takers);
    take_turn(other, takers);
  }
  if (!drive_until([&] { return takers.over == 2 * many; })) return 1;
  std::optional<Guard> held;
  bool lost = false;
  one.make_lock("held", {.lease = 1s}).acquire_async().start([&](Guard guard) {
    held = std::move(guard);
    held->lost_async().start([&](bool found) { lost = found; });
  });
  if (!drive_until([&] { return held && *held; })) return 2;
  if (::write(stand_still, "s", 1) != 1) return 3;
  pollfd news{.fd = stands_still, .events = POLLIN, .revents = 0};
  drive_until([&] { return ::poll(&news, 1, 0) == 1; });
  bool timed_out = false;
  one.make_lock("c").acquire_async({.wait = 200ms}).start([&](const Guard& guard) {
    timed_out = !guard;
  });
  if (!drive_until([&] { return timed_out && lost; })) return 4;
  held.reset();
  if (::write(stand_still, "r", 1) != 1) return 5;
  take_turn(one, takers);
  take_turn(other, takers);
  if (!drive_until([&] { return takers.over == 2 * many + 2; })) return 6;
  int closed = 0;
  for (Client* const client : {&one, &other}) {
    client->close_async().start([&](Closed) { ++closed; });
  }
  if (!drive_until([&] { return closed == 2; })) return 7;
  return takers.most == 1 && takers.failed == 0 ? 0 : 8;
}

// Promise: L3
TEST_F(RedisAsync, TheThreadOfAProgramThatDrivesItsClientNeverSleepsInTheLibrary) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer waits and starts threads";
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  GTEST_SKIP() << "the sanitizer waits and starts threads";
#endif
#endif
  const std::string url = server().url();
  int to_parent[2] = {-1, -1};
  int to_child[2] = {-1, -1};
  ASSERT_EQ(::pipe(to_parent), 0);
  ASSERT_EQ(::pipe(to_child), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(120);
    ::_exit(work_without_waits(url, to_parent[1], to_child[0]));
  }
  ::close(to_parent[1]);
  char wish = 0;
  while (::read(to_parent[0], &wish, 1) == 1) {
    if (wish == 's') server().stop();
    if (wish == 'r') server().resume();
    EXPECT_EQ(::write(to_child[1], "k", 1), 1);
  }
  int status = -1;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  for (const int fd : {to_parent[0], to_child[0], to_child[1]}) ::close(fd);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) GTEST_SKIP() << "no seccomp here";
  EXPECT_EQ(status, 0) << (WIFSIGNALED(status) ? "the kernel has ended it" : "it has failed");
}

// Promise: S1, L2
TEST_F(RedisAsync, AWaitThatIsStoppedAsItIsGrantedLeavesNothing) {
  Client holder = client();
  for (const Drive drive : {Drive::threads, Drive::program}) {
    Client one = client({.drive = drive});
    int granted = 0;
    int cancelled = 0;
    for (int i = 0; i < 200; ++i) {
      Lock held = holder.make_lock("name");
      held.lock();
      std::stop_source stop;
      std::atomic<int> ended{0};
      bool got = false;
      one.make_lock("name")
          .acquire_async({.stop = stop.get_token()})
          .start([&](const Guard& guard) {
            got = static_cast<bool>(guard);
            ++ended;
          });
      one.poll();
      if (i % 4 != 0) {
        ASSERT_TRUE(driven_until(one, [&] { return waiting("name") == 1; }));
      }
      if (i % 2 == 0) stop.request_stop();
      held.unlock();
      stop.request_stop();
      ASSERT_TRUE(driven_until(one, [&] { return ended == 1; }));
      ++(got ? granted : cancelled);
    }
    EXPECT_EQ(granted + cancelled, 200);
    EXPECT_TRUE(driven_until(one, [&] { return !is_held("name") && waiting("name") == 0; }));
  }
}

}  // namespace
}  // namespace mortise::fault
