// SPDX-License-Identifier: MIT
// Goal: a file size limit of the process ends no program, and is reported as `exhausted`. Method:
// children with a limit, where the signal that the kernel sends has its default action, is blocked,
// or has a handler.
#include "integration/file_key_fixture.hpp"
#include "model/process.hpp"

#include <gmock/gmock.h>

#include <sys/resource.h>

#include <csignal>
#include <cstdio>

namespace mortise::file {
namespace {

using testing::HasSubstr;

class FileSizeLimitTest : public FileKeyTest {
 protected:
  static bool limit(rlim_t bytes) {
    const rlimit some{.rlim_cur = bytes, .rlim_max = RLIM_INFINITY};
    return ::signal(SIGXFSZ, SIG_DFL) != SIG_ERR && ::setrlimit(RLIMIT_FSIZE, &some) == 0;
  }
  static bool is_exhausted(const Failure& why) {
    if (why.code == Errc::exhausted) return true;
    std::printf("%s (%s)\n", why.text.c_str(), why.code.message().c_str());
    return false;
  }
  /// @return what the child returned; -1 = a signal has killed it
  static int in_child(const std::function<int()>& body) {
    model::Process child = model::Process::fork_child(body);
    const auto end = child.wait_for(soon);
    return end && !end->killed() ? end->code : -1;
  }
};

TEST_F(FileSizeLimitTest, ANewLockFileIsExhausted) {
  EXPECT_EQ(in_child([this] {
              const auto client = user();
              if (!limit(1024)) return 1;
              if (!is_exhausted(client->failure_of("a"))) return 2;
              if (!limit(RLIM_INFINITY)) return 3;
              return client->try_lock("a") ? 0 : 4;
            }),
            0);
}

TEST_F(FileSizeLimitTest, AGrantInAFileThatIsThereIsExhausted) {
  const auto before = user();
  ASSERT_EQ(before->release(*before->try_lock("a")), Released::released);
  EXPECT_EQ(in_child([this] {
              const auto client = user();
              if (!limit(0)) return 1;
              if (!is_exhausted(client->failure_of("a"))) return 2;
              const auto wants = client->attempt("a", true);
              client->backend().acquire(wants);
              return wants->done() && is_exhausted(wants->failure()) ? 0 : 3;
            }),
            0);
  EXPECT_TRUE(before->try_lock("a"));
}

TEST_F(FileSizeLimitTest, AnOutcomeThatDoesNotFitIsExhausted) {
  EXPECT_EQ(in_child([this] {
              KeyUser client = keys();
              const auto run = client.begin("a");
              // Room for the record, and not for bytes behind it.
              if (!run || !limit(file_size)) return 1;
              const auto ended = client.end(*run, KeyState::succeeded, std::string(20'000, 'r'));
              if (!ended->done() || !is_exhausted(ended->failure())) return 2;
              const auto again = client.begin("a");
              return again && client.succeed(*again, "short") == Released::released ? 0 : 3;
            }),
            0);
  EXPECT_EQ(keys().replay("a")->bytes, "short");
}

TEST_F(FileSizeLimitTest, AKeyIsExhausted) {
  EXPECT_EQ(in_child([this] {
              KeyUser client = keys();
              if (!limit(1)) return 1;
              const auto asked = client.ask("a", KeyUser::a_day());
              return asked->done() && is_exhausted(asked->failure()) ? 0 : 2;
            }),
            0);
}

// The signal of another source waits for the program, and a handler of the program does not run.
TEST_F(FileSizeLimitTest, TheProgramsOwnSignalStaysAsItWas) {
  static volatile std::sig_atomic_t handled = 0;
  EXPECT_EQ(in_child([this] {
              const auto client = user();
              if (!limit(1024)) return 1;
              ::signal(SIGXFSZ, [](int) { handled = handled + 1; });
              if (!is_exhausted(client->failure_of("a"))) return 2;
              if (handled != 0) return 3;
              ::raise(SIGXFSZ);
              if (handled != 1) return 4;
              sigset_t mask{};
              ::sigemptyset(&mask);
              ::sigaddset(&mask, SIGXFSZ);
              ::pthread_sigmask(SIG_BLOCK, &mask, nullptr);
              ::raise(SIGXFSZ);
              if (!is_exhausted(client->failure_of("b"))) return 5;
              sigset_t now{};
              ::pthread_sigmask(SIG_SETMASK, nullptr, &now);
              if (::sigismember(&now, SIGXFSZ) != 1) return 6;
              ::pthread_sigmask(SIG_UNBLOCK, &mask, nullptr);
              return handled == 2 ? 0 : 7;
            }),
            0);
}

}  // namespace
}  // namespace mortise::file
