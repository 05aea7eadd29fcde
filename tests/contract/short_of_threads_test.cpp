// SPDX-License-Identifier: MIT
// Goal: a machine that starts no further thread makes calls fail as `exhausted`, and no exception
// leaves a call with an error code. Method: a child in which the kernel refuses every new thread,
// and every such call, by a client from before and by one that is opened then.
#include "model/process.hpp"
#include "support/contract_process.hpp"
#include "support/contract_suites.hpp"
#include "support/system_call_filter.hpp"

#include <sys/syscall.h>

#include <cerrno>
#include <cstdio>
#include <functional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace mortise::contract {
namespace {

constexpr int no_filters = 77;

/// From now on this process gets no thread.
bool refuse_threads() {
  constexpr std::uint32_t refuse = SECCOMP_RET_ERRNO | EAGAIN;
  if (!test::filter({SYS_clone3}, refuse) || !test::filter({SYS_clone}, refuse)) return false;
  try {
    std::thread([] {}).join();
    return false;
  } catch (const std::system_error&) {
    return true;
  }
}

/// Makes calls, and says which of them have gone wrong.
class Calls {
 public:
  /// @param call with an error code to write to
  void make(const char* what, const std::function<void(std::error_code&)>& call) {
    std::error_code code;
    try {
      call(code);
    } catch (const std::exception& error) {
      std::printf("%s throws %s\n", what, error.what());
      ++wrong_;
      return;
    }
    exhausted_ += code == Errc::exhausted ? 1 : 0;
    if (!code || code == Errc::exhausted) return;
    std::printf("%s: %s\n", what, code.message().c_str());
    ++wrong_;
  }
  /// @param call throws what is wrong
  void make_throwing(const char* what, const std::function<void()>& call) {
    make(what, [&](std::error_code& code) {
      try {
        call();
      } catch (const Error& error) {
        code = error.code();
      }
    });
  }
  [[nodiscard]] int wrong() const noexcept { return wrong_; }
  [[nodiscard]] int exhausted() const noexcept { return exhausted_; }

 private:
  int wrong_ = 0;
  int exhausted_ = 0;
};

void lock_in_each_way(Client& client, Calls& calls) {
  Lock lock = client.make_lock("a");
  Lock other = client.make_lock("b");
  const auto unlocked = [&](bool locked) {
    if (!locked) return;
    std::error_code ignored;
    lock.unlock(ignored);
  };
  calls.make("lock", [&](auto& ec) {
    lock.lock(ec);
    unlocked(!ec);
  });
  calls.make("try_lock", [&](auto& ec) { unlocked(lock.try_lock(ec)); });
  calls.make("try_lock_for", [&](auto& ec) { unlocked(lock.try_lock_for(50ms, ec)); });
  calls.make("acquire", [&](auto& ec) { unlocked(lock.acquire({.wait = 50ms}, ec)); });
  calls.make("Guard", [&](auto& ec) { const Guard guard(lock, {.wait = 50ms}, ec); });
  calls.make("lock_all", [&](auto& ec) {
    const mortise::Guards guards = lock_all({lock, other}, {.wait = 50ms}, ec);
  });
  calls.make_throwing("throwing lock", [&] {
    lock.lock();
    lock.unlock();
  });
}

void ask_in_each_way(Client& client, Calls& calls) {
  const Capabilities can = client.capabilities();
  calls.make("check", [&](auto& ec) { client.check(2s, ec); });
  calls.make_throwing("throwing check", [&] { client.check(2s); });
  if (can.holders == Support::yes) {
    const Lock lock = client.make_lock("a");
    calls.make("holder", [&](auto& ec) { static_cast<void>(lock.holder(ec)); });
    calls.make_throwing("throwing holder", [&] { static_cast<void>(lock.holder()); });
  }
  if (can.lists == Support::yes) {
    calls.make("list", [&](auto& ec) { static_cast<void>(client.list("", {}, ec)); });
  }
  if (can.queues == Support::yes) {
    calls.make("queue", [&](auto& ec) { static_cast<void>(client.queue("a", {}, ec)); });
  }
  if (can.forces == Support::yes) {
    calls.make("force_release",
               [&](auto& ec) { static_cast<void>(client.force_release("a", {}, ec)); });
  }
  if (can.permits == Support::yes) {
    Semaphore semaphore = client.make_semaphore("s", 2);
    calls.make("Semaphore::acquire",
               [&](auto& ec) { const Permit permit = semaphore.acquire({.wait = 50ms}, ec); });
    calls.make("Semaphore::try_acquire",
               [&](auto& ec) { const Permit permit = semaphore.try_acquire(ec); });
  }
  if (can.once != Support::yes) return;
  Once once = client.make_once("k", {.wait = 50ms});
  calls.make("Once::look", [&](auto& ec) { static_cast<void>(once.look(ec)); });
  calls.make("Once::forget", [&](auto& ec) { once.forget(ec); });
  calls.make("Once::begin", [&](auto& ec) {
    Run run = once.begin(ec);
    std::error_code ignored;
    if (run) run.fail("no", ignored);
  });
  calls.make("Once::run", [&](auto& ec) { once.run([](Run&) { return std::string(); }, ec); });
}

class ShortOfThreads : public ContractTest {
 protected:
  /// @return the child's code: 0 = all is well
  int in_child(const std::function<std::unique_ptr<Client>()>& before) {
    model::Process child = model::Process::fork_child([&] {
      std::unique_ptr<Client> mine = before();
      if (!refuse_threads()) return no_filters;
      Calls calls;
      if (!mine) calls.make_throwing("opening", [&] { mine = std::make_unique<Client>(client()); });
      if (mine) {
        lock_in_each_way(*mine, calls);
        ask_in_each_way(*mine, calls);
      }
      if (calls.wrong() > 0) return 1;
      // Holds with a lease have a thread that renews them.
      return leases() && calls.exhausted() == 0 ? 2 : 0;
    });
    const auto end = child.wait_for(3 * patience);
    return end && !end->killed() ? end->code : -1;
  }
};

MORTISE_TEST(ShortOfThreads, EveryCallSaysExhausted, Hook::processes) {
  const int code = in_child([this] { return std::make_unique<Client>(client()); });
  if (code == no_filters) GTEST_SKIP() << "no filters of system calls are to be had";
  EXPECT_EQ(code, 0);
}

MORTISE_TEST(ShortOfThreads, SoDoesOpeningAClient, Hook::processes) {
  const int code = in_child([] { return nullptr; });
  if (code == no_filters) GTEST_SKIP() << "no filters of system calls are to be had";
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace mortise::contract
