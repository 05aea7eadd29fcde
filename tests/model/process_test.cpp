// SPDX-License-Identifier: MIT
// Goal: the tools that kill and stop clients do what the fault tests believe they do, and nothing
// that they start survives them. Method: children that answer through a pipe or a shared word.
#include "model/process.hpp"

#include "model/history.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <memory>
#include <new>
#include <stdexcept>
#include <thread>
#include <utility>

namespace mortise::model {
namespace {

using namespace std::chrono_literals;

// A word that this process and its children share.
class SharedCount {
 public:
  SharedCount()
      : count_(::new (::mmap(nullptr, sizeof(Count), PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Count(0)) {}
  SharedCount(const SharedCount&) = delete;
  SharedCount& operator=(const SharedCount&) = delete;
  ~SharedCount() { ::munmap(count_, sizeof(Count)); }

  std::atomic<std::uint64_t>& operator*() const { return *count_; }

  bool moves_beyond(std::uint64_t value) const {
    const std::int64_t deadline = monotonic_ns() + 20'000'000'000;
    while (count_->load() <= value && monotonic_ns() < deadline) {
      std::this_thread::yield();
    }
    return count_->load() > value;
  }

 private:
  using Count = std::atomic<std::uint64_t>;
  Count* count_;
};

// Long enough for any of these tests; yet it ends, should the tools that are tested here fail to.
int count_for_long(std::atomic<std::uint64_t>& count) {
  for (const std::int64_t end = monotonic_ns() + 60'000'000'000; monotonic_ns() < end;) {
    count.fetch_add(1);
  }
  return 0;
}

bool exists(pid_t pid) { return ::kill(pid, 0) == 0 || errno != ESRCH; }

TEST(Process, ReportsTheCodeOfAForkedBody) {
  Process child = Process::fork_child([] { return 42; });
  const std::optional<Exit> exit = child.wait_for(20s);
  ASSERT_TRUE(exit.has_value());
  EXPECT_FALSE(exit->killed());
  EXPECT_EQ(exit->code, 42);
  EXPECT_EQ(child.wait_for(0ms)->code, 42) << "answers the same ever after";
}

TEST(Process, ReportsAnExceptionOfAForkedBody) {
  Process child = Process::fork_child([]() -> int {
    ::close(STDERR_FILENO);
    throw std::runtime_error("thrown on purpose");
  });
  EXPECT_EQ(child.wait_for(20s)->code, 125);
}

TEST(Process, RunsAProgramWithArguments) {
  Process good = Process::spawn("/bin/sh", {"-c", "exit $1", "sh", "7"});
  EXPECT_EQ(good.wait_for(20s)->code, 7);
  Process bad = Process::spawn("/no/such/program", {});
  EXPECT_EQ(bad.wait_for(20s)->code, 127);
}

TEST(Process, InheritsOnlyTheDescriptorThatIsNamed) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const std::string script = "printf x >&" + std::to_string(ends[1]);
  Process child = Process::spawn("/bin/sh", {"-c", script}, ends[1]);
  ::close(ends[1]);
  char byte = 0;
  EXPECT_EQ(::read(ends[0], &byte, 1), 1);
  EXPECT_EQ(byte, 'x');
  EXPECT_EQ(child.wait_for(20s)->code, 0);
  Process other = Process::spawn("/bin/sh", {"-c", "true 2>&- <&" + std::to_string(ends[0])});
  EXPECT_NE(other.wait_for(20s)->code, 0);
  ::close(ends[0]);
}

TEST(Process, KillsAndTellsTheWindowOfTheDeath) {
  const SharedCount count;
  Process child = Process::fork_child([&] { return count_for_long(*count); });
  ASSERT_TRUE(count.moves_beyond(0));
  EXPECT_FALSE(child.wait_for(0ms).has_value());
  const std::int64_t before = monotonic_ns();
  const Exit exit = child.kill();
  const std::int64_t after = monotonic_ns();
  EXPECT_EQ(exit.signal, SIGKILL);
  EXPECT_LE(before, exit.sent);
  EXPECT_LE(exit.sent, exit.reaped);
  EXPECT_LE(exit.reaped, after);
  EXPECT_FALSE(exists(child.pid()));
}

TEST(Process, DoesNotClaimToHaveKilledWhoHadDiedBefore) {
  const std::int64_t before = monotonic_ns();
  Process child = Process::fork_child([] { return ::raise(SIGKILL); });
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child.pid()), &info, WEXITED | WNOWAIT), 0);
  const std::int64_t dead = monotonic_ns();
  const Exit exit = child.kill();
  EXPECT_EQ(exit.signal, SIGKILL);
  EXPECT_GE(exit.sent, before);
  EXPECT_LT(exit.sent, dead) << "the window must reach back to where it may have died";
}

TEST(Process, StopsAndResumes) {
  const SharedCount count;
  Process child = Process::fork_child([&] { return count_for_long(*count); });
  for (int round = 0; round < 20; ++round) {
    ASSERT_TRUE(count.moves_beyond(*count));
    ASSERT_TRUE(child.stop());
    ASSERT_TRUE(child.stop()) << "a second time changes nothing";
    const std::uint64_t stood = *count;
    // A running child would get its share of the processor within these.
    for (int turn = 0; turn < 50; ++turn) {
      std::this_thread::yield();
      ASSERT_EQ(*count, stood);
    }
    child.resume();
  }
  ASSERT_TRUE(count.moves_beyond(*count));
  ASSERT_TRUE(child.stop());
  EXPECT_EQ(child.kill().signal, SIGKILL) << "stopped, and still killed";
  EXPECT_FALSE(child.stop());
}

TEST(Process, StopTellsThatTheChildHasEnded) {
  Process child = Process::fork_child([] { return 0; });
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child.pid()), &info, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(child.stop());
  EXPECT_EQ(child.wait_for(20s)->code, 0);
}

TEST(Process, EndsTheChildWithTheObject) {
  const SharedCount count;
  pid_t pid = -1;
  {
    Process child = Process::fork_child([&] { return count_for_long(*count); });
    pid = child.pid();
    ASSERT_TRUE(count.moves_beyond(0));
    Process moved = std::move(child);
    // NOLINTNEXTLINE(bugprone-use-after-move,clang-analyzer-cplusplus.Move): that is the question.
    EXPECT_EQ(child.pid(), -1);
    EXPECT_EQ(moved.pid(), pid);
    EXPECT_TRUE(exists(pid));
  }
  EXPECT_FALSE(exists(pid));
}

TEST(Process, EndsTheGrandchildWhenItsParentIsKilled) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const SharedCount count;
  Process child = Process::fork_child([&] {
    const Process grandchild = Process::fork_child([&] { return count_for_long(*count); });
    ::pause();
    return 0;
  });
  ::close(ends[1]);
  ASSERT_TRUE(count.moves_beyond(0));
  child.kill();
  // The pipe ends when the last process that has its writing end is gone.
  pollfd ended{ends[0], POLLIN, 0};
  ASSERT_EQ(::poll(&ended, 1, 20'000), 1);
  EXPECT_NE(ended.revents & POLLHUP, 0);
  ::close(ends[0]);
}

TEST(Process, RefusesToForkBesideAnotherThread) {
  std::atomic<bool> stop = false;
  std::thread first([&] {
    while (!stop) {
      std::this_thread::sleep_for(1ms);
    }
  });
  std::string message;
  try {
    Process::fork_child([] { return 0; });
  } catch (const ProcessError& error) {
    message = error.what();
  }
  stop = true;
  first.join();
  EXPECT_NE(message.find("cannot fork a child while"), std::string::npos) << message;
  EXPECT_EQ(Process::fork_child([] { return 3; }).wait_for(20s)->code, 3);
}

}  // namespace
}  // namespace mortise::model
