// SPDX-License-Identifier: MIT
// Goal: at whichever step of a begin or a conclusion a process dies, and whatever the disk says,
// the key is as before or as after, and nobody was told of what the disk did not have. Method: a
// filter of system calls ends the child at that step, or has the call fail.
#include "integration/file_key_fixture.hpp"
#include "model/process.hpp"
#include "support/system_call_filter.hpp"

#include <gmock/gmock.h>

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/syscall.h>

#include <cerrno>
#include <csignal>
#include <string>

namespace mortise::file {
namespace {

using namespace std::chrono_literals;
using test::SystemCall;
using testing::HasSubstr;

constexpr int no_filters = 77;

// The steps, in their order. pwrite64 has the size as its third argument.
const SystemCall writing_bytes{SYS_pwrite64, 2, 20000};
const SystemCall writing_record{SYS_pwrite64, 2, 512};
const SystemCall flushing{SYS_fdatasync};
const SystemCall flushing_name{SYS_fsync};
const SystemCall settling{SYS_pwrite64, 2, 8};
const SystemCall unlocking{SYS_fcntl, 1, F_OFD_SETLK};
const SystemCall waking{SYS_futex, 1, FUTEX_WAKE_OP};

class FileKeyDeathTest : public FileKeyTest {
 protected:
  /// A child that does this and comes to its end at a step.
  /// @return whether it did; a skip where that cannot be had
  testing::AssertionResult dies(const std::function<void(KeyUser&)>& before, const SystemCall& step,
                                const std::function<void(KeyUser&)>& doing) {
    model::Process child = model::Process::fork_child([&] {
      KeyUser client = keys();
      if (before) before(client);
      if (!test::filter(step, SECCOMP_RET_KILL_PROCESS)) return no_filters;
      doing(client);
      return 1;
    });
    const auto end = child.wait_for(soon);
    if (!end) return testing::AssertionFailure() << "it is still there";
    if (end->code == no_filters) return testing::AssertionFailure() << "no filters to be had";
    if (end->signal == SIGSYS) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "code " << end->code << ", signal " << end->signal;
  }
  /// One that dies at a step of its conclusion, in its first run.
  testing::AssertionResult dies_concluding(const SystemCall& step) {
    std::optional<GrantedRun> run;
    return dies([&](KeyUser& client) { run = client.begin("a"); }, step,
                [&](KeyUser& client) { client.succeed(*run, std::string(20000, 'r')); });
  }
  void expect_pending() {
    KeyUser client = keys();
    EXPECT_EQ(client.look("a").state, KeyState::pending);
    EXPECT_EQ(client.look("a").run, 1U);
    EXPECT_FALSE(client.look("a").held);
    const auto run = client.begin("a");
    ASSERT_TRUE(run);
    EXPECT_EQ(run->run, 2U);
    EXPECT_EQ(client.succeed(*run, "second"), Released::released);
    EXPECT_EQ(keys().replay("a")->bytes, "second");
    EXPECT_TRUE(client.forget("a"));
  }
  void expect_recorded() {
    KeyUser client = keys();
    const auto told = client.replay("a");
    ASSERT_TRUE(told);
    EXPECT_EQ(told->bytes, std::string(20000, 'r'));
    EXPECT_EQ(told->run, 1U);
    const KeyFile file(path_of_key("a"));
    EXPECT_TRUE(file.page().settled(file.newest()));
    EXPECT_TRUE(client.forget("a"));
  }
};

TEST_F(FileKeyDeathTest, BeforeTheRecordIsWrittenTheRunIsPending) {
  ASSERT_TRUE(dies_concluding(writing_bytes));
  expect_pending();
  ASSERT_TRUE(dies_concluding(writing_record));
  expect_pending();
}

// Promise: O1
TEST_F(FileKeyDeathTest, FromThenOnItIsRecorded) {
  for (const SystemCall& step : {flushing, settling, unlocking, waking}) {
    ASSERT_TRUE(dies_concluding(step)) << step.number;
    expect_recorded();
  }
}

// What the disk may lose is not marked as if it had it, and until it is marked the key is not free.
TEST_F(FileKeyDeathTest, TheDiskHasAnOutcomeBeforeTheKeyIsFree) {
  for (const SystemCall& step : {flushing, settling, unlocking}) {
    ASSERT_TRUE(dies_concluding(step)) << step.number;
    const KeyFile file(path_of_key("a"));
    EXPECT_EQ(file.newest().state, KeyState::succeeded);
    EXPECT_EQ(file.page().settled(file.newest()), step.number == unlocking.number) << step.number;
    EXPECT_TRUE(keys().forget("a"));
  }
}

TEST_F(FileKeyDeathTest, WhoeverWaitedIsToldWhenItAsksAgain) {
  for (const SystemCall& step : {flushing, unlocking, waking}) {
    KeyUser client = keys();
    std::optional<GrantedRun> run;
    ASSERT_TRUE(dies([&](KeyUser& mine) { run = mine.begin("a"); }, step,
                     [&](KeyUser& mine) { mine.succeed(*run, std::string(20000, 'r')); }));
    const auto waits = client.ask("a", KeyUser::a_day(), true);
    ASSERT_TRUE(client.user().wait(waits, soon, 20ms));
    ASSERT_TRUE(waits->record());
    EXPECT_EQ(waits->record()->bytes, std::string(20000, 'r'));
    EXPECT_TRUE(client.forget("a"));
  }
}

TEST_F(FileKeyDeathTest, ABeginThatWroteNothingWasNone) {
  const auto begins = [](KeyUser& client) { static_cast<void>(client.begin("a")); };
  ASSERT_TRUE(dies({}, writing_record, begins));
  KeyUser client = keys();
  EXPECT_EQ(client.look("a").state, KeyState::absent);
  const auto run = client.begin("a");
  ASSERT_TRUE(run);
  EXPECT_EQ(run->run, 1U);
}

// Promise: O4
TEST_F(FileKeyDeathTest, ABeginIsOnTheDiskBeforeItsRunnerIsTold) {
  const auto begins = [](KeyUser& client) { static_cast<void>(client.begin("a")); };
  for (const SystemCall& step : {flushing, flushing_name}) {
    ASSERT_TRUE(dies({}, step, begins)) << step.number;
    KeyUser client = keys();
    EXPECT_EQ(client.look("a").state, KeyState::pending);
    const auto run = client.begin("a");
    ASSERT_TRUE(run);
    EXPECT_EQ(run->run, 2U);
    EXPECT_EQ(client.give_back(*run), Released::released);
    ASSERT_EQ(::unlink(path_of_key("a").c_str()), 0);
  }
}

TEST_F(FileKeyDeathTest, WhoeverDiesOverTheWordsOfADeadRunnerChangesNothing) {
  for (const SystemCall& step : {writing_bytes, writing_record, flushing, settling}) {
    ASSERT_TRUE(dies_concluding(flushing));
    ASSERT_TRUE(dies({}, step, [](KeyUser& client) { static_cast<void>(client.replay("a")); }))
        << step.number;
    expect_recorded();
  }
}

TEST_F(FileKeyDeathTest, ForgettingIsAsBeforeOrAsAfter) {
  for (const SystemCall& step : {writing_record, flushing, settling, unlocking}) {
    KeyUser client = keys();
    ASSERT_EQ(client.succeed(*client.begin("a"), "x"), Released::released);
    // The first lock of the child is that for forgetting; there the key is as it was.
    ASSERT_TRUE(dies({}, step, [](KeyUser& mine) { static_cast<void>(mine.forget("a")); }));
    const bool before = step.number == writing_record.number && step.value == 512;
    const bool locked = step.number == unlocking.number;
    EXPECT_EQ(client.look("a").state, before || locked ? KeyState::succeeded : KeyState::absent);
    EXPECT_TRUE(client.forget("a"));
  }
}

// What the disk refuses, nobody is told of.
TEST_F(FileKeyDeathTest, AFlushThatFailsGrantsNothing) {
  model::Process child = model::Process::fork_child([this] {
    KeyUser client = keys();
    if (!test::filter(flushing, SECCOMP_RET_ERRNO | EIO)) return no_filters;
    const auto asked = client.ask("a", KeyUser::a_day());
    if (asked->grant().number != 0 || asked->failure().code != Errc::unavailable) return 1;
    if (asked->failure().text.find("flush") == std::string::npos) return 2;
    return client.look("a").held ? 3 : 0;
  });
  const auto end = child.wait_for(soon);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->code, 0);
  const auto run = keys().begin("a");
  ASSERT_TRUE(run);
  EXPECT_EQ(run->run, 2U);
}

// Promise: O3
TEST_F(FileKeyDeathTest, AnOutcomeThatTheDiskRefusesIsInDoubt) {
  model::Process child = model::Process::fork_child([this] {
    KeyUser client = keys();
    const auto run = client.begin("a");
    if (!test::filter(flushing, SECCOMP_RET_ERRNO | EIO)) return no_filters;
    const auto said = client.end(*run, KeyState::succeeded, std::string(20000, 'r'));
    if (said->failure().code != Errc::in_doubt) return 1;
    // Nor is anybody else told of it here, or may run it: it may be on the disk.
    const auto asked = client.ask("a", KeyUser::a_day());
    if (asked->record() || asked->grant().number != 0) return 2;
    if (asked->failure().code != Errc::unavailable) return 3;
    if (client.recall(Recollection::Kind::look, "a")->failure().code != Errc::unavailable) return 4;
    // Said again it is still in doubt.
    if (client.end(*run, KeyState::succeeded, "")->failure().code != Errc::in_doubt) return 5;
    return 0;
  });
  const auto end = child.wait_for(soon);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->code, 0);
  expect_recorded();
}

}  // namespace
}  // namespace mortise::file
