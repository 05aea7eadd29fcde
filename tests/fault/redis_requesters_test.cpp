// SPDX-License-Identifier: MIT
// Goal: of two threads that ask for one attempt the late one sends nothing, however late it is: its
// request would come behind the release, or behind the cancel, and make an orphaned grant. Method:
// the second thread stands still inside of the backend, before each mutex in turn that it locks
// until it has asked. In the same way a thread stands still with a mutex while the process forks.
#include "fault/redis_fixture.hpp"
#include "redis/store/redis_backend.hpp"
#include "support/mutex_stop.hpp"
#include "support/one_shot_host.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <thread>

namespace mortise::fault {
namespace {

class RedisRequesters : public RedisTest {
 protected:
  void SetUp() override {
    RedisTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    backend_.emplace(redis::Settings::parse(server().url()));
    backend_->start(one_shot_);
    check();
  }
  void TearDown() override {
    if (backend_) backend_->stop();
  }
  /// Behind everything that was sent before.
  void check() {
    const auto all = std::make_shared<Check>();
    backend_->check(all);
    run(*all);
  }
  void run(const Operation& operation) {
    one_shot_.run(operation, 10s);
    ASSERT_TRUE(operation.done());
  }
  [[nodiscard]] static std::shared_ptr<Acquisition> attempt(std::uint64_t sequence) {
    return std::make_shared<Acquisition>(
        Acquisition::Request{.attempt = {.client_high = 1, .client_low = 2, .sequence = sequence},
                             .name = "a",
                             .lease = 30s,
                             .wait = true});
  }
  /// @return how many mutexes a thread locks on the way until it has asked. The last one is the
  /// connection's, under which it is admitted, which locks what knows the attempts.
  [[nodiscard]] unsigned places() {
    const auto free = attempt(999);
    MutexStop stop;
    stop.count_this_thread();
    backend_->acquire(free);
    const unsigned outer = stop.outer_of_the_first_pair();
    run(*free);
    release(free);
    return outer;
  }
  void release(const std::shared_ptr<Acquisition>& of) {
    ASSERT_NE(of->grant().number, 0U);
    const auto release = std::make_shared<Release>(
        HoldId{.name = "a", .attempt = of->request().attempt, .number = of->grant().number});
    backend_->release(release);
    run(*release);
    EXPECT_EQ(release->outcome(), Released::released);
  }
  /// Asks in another thread, which stands still before that mutex until `let_go()`.
  [[nodiscard]] std::jthread ask_late(const std::shared_ptr<Acquisition>& operation,
                                      unsigned place) {
    std::jthread late([this, operation, place] {
      stop_.stop_this_thread(place);
      backend_->acquire(operation);
    });
    stop_.until_it_stands();
    return late;
  }
  /// Lets it send what it will; that is nothing.
  void let_go(std::jthread late) {
    const std::uint64_t before = scripts();
    check();
    const std::uint64_t of_a_check = scripts() - before;
    stop_.let_go();
    late.join();
    check();
    EXPECT_EQ(scripts(), before + 2 * of_a_check);
  }
  [[nodiscard]] std::uint64_t scripts() {
    auto stats = server().talk().command_stats();
    return stats["evalsha"] + stats["eval"];
  }
  [[nodiscard]] redis::RedisBackend& backend() { return *backend_; }

 private:
  MutexStop stop_;
  test::OneShotHost one_shot_{Clock::real()};
  std::optional<redis::RedisBackend> backend_;
};

TEST_F(RedisRequesters, ALateOneTakesNothingBehindTheRelease) {
  const unsigned last = places();
  ASSERT_GE(last, 1U);
  for (unsigned place = 1; place <= last; ++place) {
    SCOPED_TRACE("before mutex " + std::to_string(place) + " of " + std::to_string(last));
    const auto mine = attempt(place);
    std::jthread late = ask_late(mine, place);
    backend().acquire(mine);
    run(*mine);
    release(mine);
    let_go(std::move(late));
    expect_free("a");
  }
}

TEST_F(RedisRequesters, ALateOneDoesNotJoinTheQueueBehindTheCancel) {
  const unsigned last = places();
  ASSERT_GE(last, 1U);
  Client other = client();
  Lock theirs = other.make_lock("a");
  for (unsigned place = 1; place <= last; ++place) {
    SCOPED_TRACE("before mutex " + std::to_string(place) + " of " + std::to_string(last));
    theirs.lock();
    const auto mine = attempt(place);
    std::jthread late = ask_late(mine, place);
    backend().acquire(mine);
    ASSERT_TRUE(eventually([&] {
      check();
      return waiting("a") == 1;
    }));
    backend().cancel(mine);
    run(*mine);
    EXPECT_EQ(mine->grant().number, 0U);
    let_go(std::move(late));
    EXPECT_EQ(waiting("a"), 0U);
    theirs.unlock();
    expect_free("a");
  }
}

class RedisFork : public RedisTest {
 protected:
  /// @return whether the calls of a forked child return, with the error `closed`.
  [[nodiscard]] static bool child_is_out(Client& client) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(10);  // a child that hangs is a failed test
      std::error_code checked;
      client.check(1s, checked);
      std::error_code listed;
      static_cast<void>(client.list("", {}, listed));
      const bool empty = client.snapshot().names.empty();
      ::_exit(checked == Errc::closed && listed == Errc::closed && empty ? 0 : 1);
    }
    int status = -1;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return status == 0;
  }
};

// Promise: S9
TEST_F(RedisFork, TheChildNeedsNoMutexThatAThreadOfItsParentHas) {
  Client mine = client();
  mine.check(patience);
  unsigned place = 0;
  for (bool stands = true; stands;) {
    MutexStop stop;
    ++place;
    std::thread other([&] {
      stop.stop_this_thread_with(place);
      static_cast<void>(mine.make_lock("a", {.label = std::to_string(place)}));
      stop.leave_this_thread();
    });
    stands = stop.until_it_stands();
    if (stands) {
      EXPECT_TRUE(child_is_out(mine)) << "mutex " << place << " of make_lock()";
      stop.let_go();
    }
    other.join();
  }
  EXPECT_GT(place, 2U) << "it locks the mutexes of the names and of the terms";
}

}  // namespace
}  // namespace mortise::fault
