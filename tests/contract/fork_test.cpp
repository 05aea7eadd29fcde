// SPDX-License-Identifier: MIT
// Goal: a forked child is out (S9): it gets errors instead of locks, does nothing to what its
// parent holds, and keeps nothing of it alive. Method: forks of a process with clients at work; the
// child checks itself and tells by its exit code.
#include "model/process.hpp"
#include "support/contract_process.hpp"
#include "support/contract_suites.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <vector>

namespace mortise::contract {
namespace {

/// Forks this process as it is, with all its threads at work. @return what the child ended with
int in_a_fork(const std::function<void()>& body) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);  // a child that hangs is a failed test, not a hanging one
    body();
    std::fflush(nullptr);
    ::_exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

std::set<std::string> descriptors() {
  std::set<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;  // the iterator's own is closed by the time it is read
    const std::filesystem::path target = std::filesystem::read_symlink(entry.path(), gone);
    if (!gone && target.string().find("/proc/") != 0) {
      found.insert(entry.path().filename().string() + " = " + target.string());
    }
  }
  return found;
}

void expect_out(Client& client, Lock& lock) {
  std::error_code ec;
  lock.lock(ec);
  EXPECT_EQ(ec, Errc::closed);
  EXPECT_FALSE(lock.try_lock(ec));
  EXPECT_EQ(ec, Errc::closed);
  EXPECT_FALSE(lock.try_lock_for(10s, ec));
  EXPECT_EQ(ec, Errc::closed);
  EXPECT_THROW(lock.lock(), Error);
  EXPECT_THROW(const Guard held(lock), Error);
  EXPECT_THROW(static_cast<void>(client.make_lock("new")), Error);
  client.check(1s, ec);
  EXPECT_EQ(ec, Errc::closed);
  static_cast<void>(client.list("", {}, ec));
  EXPECT_EQ(ec, Errc::closed);
  static_cast<void>(client.queue("name", {}, ec));
  EXPECT_EQ(ec, Errc::closed);
  EXPECT_TRUE(client.snapshot().names.empty());
  EXPECT_EQ(client.capabilities().leases, Support::unknown);
  EXPECT_FALSE(lock.holder(ec).has_value());
  EXPECT_EQ(ec, Errc::closed);
  EXPECT_EQ(lock.hold_count(), 0U);
  EXPECT_FALSE(lock.token());
  EXPECT_EQ(lock.valid_for(), 0ns);
  EXPECT_FALSE(lock.lost().stop_possible());
  EXPECT_EQ(lock.name(), "name");
  try {
    lock.acquire_async().start([](const Guard&) {});
    ADD_FAILURE() << "an asynchronous call began";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::closed);
  }
  lock.unlock(ec);
  EXPECT_FALSE(ec) << "unlock is silent";
  EXPECT_EQ(lock.release(), Released::unknown);
}

// Promise: S9
MORTISE_TEST(Fork, TheChildIsOut) {
  auto one = std::make_unique<Client>(client());
  Client other = client();
  std::optional<Lock> lock = one->make_lock("name");
  lock->lock();
  Lock guarded = one->make_lock("guarded");
  std::optional<Guard> guard(std::in_place, guarded);
  const int status = in_a_fork([&] {
    expect_out(*one, *lock);
    EXPECT_EQ(guard->valid_for(), 0ns);
    EXPECT_EQ(guard->store().identity, "");
    Guard moved = std::move(*guard);
    EXPECT_EQ(moved.unlock(), Released::unknown);
    guard.reset();
    [[maybe_unused]] const Lock moved_lock = std::move(*lock);
    lock.reset();
    one->close();
    one.reset();
  });
  EXPECT_EQ(status, 0) << "see the child's output above";
  EXPECT_FALSE(other.make_lock("name").try_lock()) << "the child released what its parent holds";
  EXPECT_FALSE(other.make_lock("guarded").try_lock());
  EXPECT_GT(lock->valid_for(), 0ns);
  EXPECT_EQ(guard->unlock(), Released::released);
  EXPECT_EQ(lock->release(), Released::released);
}

// Promise: S9
MORTISE_TEST(Fork, TheChildKeepsNoDescriptor) {
  static_cast<void>(store());
  const std::set<std::string> before = descriptors();
  Client one = client();
  Client other = client();
  Lock lock = one.make_lock("name");
  Lock wanted = other.make_lock("name");
  Lock second = one.make_lock("other name");
  lock.lock();
  second.lock();
  second.unlock();
  one.check(patience);
  Worker waiter;
  auto served = waiter.start([&] {
    wanted.lock();
    wanted.unlock();
  });
  ASSERT_TRUE(waiter.falls_asleep());
  const int status = in_a_fork([&] {
    for (const std::string& open : descriptors()) {
      EXPECT_TRUE(before.contains(open)) << "still open in the child: " << open;
    }
  });
  EXPECT_EQ(status, 0) << "see the child's output above";
  lock.unlock();
  EXPECT_NO_THROW(served.get());
}

// Promise: S9
MORTISE_TEST(Fork, WorksWhileOtherThreadsAreInsideTheLibrary, Build::no_address_sanitizer) {
  // A fork may find another thread inside that sanitizer's allocator.
  Client one = client();
  std::atomic<bool> enough{false};
  std::vector<std::unique_ptr<Worker>> workers;
  // The C library's lock around what is to be done at the end, which anything may take that is made
  // on first use.
  workers.push_back(std::make_unique<Worker>());
  static_cast<void>(workers.back()->start([&] {
    while (!enough.load()) static_cast<void>(std::atexit([] {}));
  }));
  for (int i = 0; i < 3; ++i) {
    workers.push_back(std::make_unique<Worker>());
    static_cast<void>(workers.back()->start([&] {
      Lock lock = one.make_lock("name");
      while (!enough.load()) {
        const std::lock_guard hold(lock);
      }
    }));
  }
  // Nearly all of its time is spent under the mutexes of the names and of the terms.
  workers.push_back(std::make_unique<Worker>());
  static_cast<void>(workers.back()->start([&] {
    for (int i = 0; !enough.load(); ++i) {
      static_cast<void>(one.make_lock("other name", {.label = i % 2 == 0 ? "even" : "odd"}));
    }
  }));
  Lock lock = one.make_lock("name");
  for (int i = 0; i < 10; ++i) {
    lock.lock();
    // Whatever mutex a thread holds just now stays locked in the child for ever.
    EXPECT_EQ(in_a_fork([&] { expect_out(one, lock); }), 0) << "fork " << i;
    lock.unlock();
  }
  enough = true;
}

MORTISE_TEST(Fork, TheParentGoesOn, Quality::leases) {
  take_any_clock();
  const auto record = std::make_shared<Record>();
  Client one = client({.observer = record});
  const LockOptions options{.lease = real_time() ? renewed_lease() : 30'000ms};
  Lock lock = one.make_lock("name", options);
  lock.lock();
  EXPECT_EQ(in_a_fork([] {}), 0);
  for (std::size_t i = 1; i <= 3; ++i) {
    if (!real_time()) clock().advance(options.lease / 3);
    ASSERT_TRUE(record->told(Record::Kind::renewed, i));
  }
  EXPECT_EQ(lock.release(), Released::released);
}

MORTISE_TEST(Fork, TheChildMayOpenAClientOfItsOwn, Hook::processes, Build::no_sanitizer) {
  // The thread sanitizer ends a forked child that starts a thread; in one of the other another
  // thread may have been inside its allocator.
  Client one = client();
  Lock lock = one.make_lock("name");
  lock.lock();
  const int status = in_a_fork([&] {
    Client mine = client();
    Lock same = mine.make_lock("name");
    Lock free = mine.make_lock("other name");
    EXPECT_FALSE(same.try_lock()) << "the parent holds it";
    EXPECT_TRUE(free.try_lock());
    EXPECT_EQ(free.release(), Released::released);
  });
  EXPECT_EQ(status, 0) << "see the child's output above";
  EXPECT_EQ(lock.release(), Released::released);
}

// Promise: S9
MORTISE_TEST(Fork, TheChildDoesNotOutliveItsParentAsAHolder, Hook::processes) {
  const LockOptions options{.lease = short_lease() * 3};
  const std::chrono::milliseconds lease = leases() ? lease_of(options) : 0ms;
  const Line tells;
  Line ends;
  model::Process parent = model::Process::fork_child([&] {
    Client mine = client();
    Lock lock = mine.make_lock("name", options);
    lock.lock();
    if (::fork() == 0) {
      ends.close_writing();
      tells.tell('c');
      static_cast<void>(ends.hear(5min));  // until the test closes the line, or dies
      ::_exit(0);
    }
    static_cast<void>(Line().hear(5min));
    return 0;
  });
  ASSERT_EQ(tells.hear(patience), 'c') << "no grandchild";
  Client other = client();
  Lock next = other.make_lock("name");
  EXPECT_FALSE(next.try_lock());
  EXPECT_EQ(parent.kill().signal, SIGKILL);
  EXPECT_TRUE(taken_within(next, lease + 1s))
      << "the child keeps the lock of its dead parent alive";
  if (next.hold_count() > 0) next.unlock();
  ends.close_writing();
}

}  // namespace
}  // namespace mortise::contract
