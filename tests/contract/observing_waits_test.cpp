// SPDX-License-Identifier: MIT
// Goal: each wait that an observer learns of has exactly one end, with its reason, for every kind
// of name. Method: an observer that records, waiters that are served, run out of time, are
// cancelled and closed, one by one and all at once.
#include "support/contract_suites.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace mortise::contract {
namespace {

using Kind = Record::Kind;

/// @return how the waits ended that have a reason of that code; none = they have what they want.
std::size_t ended(const Record& record, const std::error_code& code) {
  const std::vector<Record::Entry> all = record.all(Kind::wait_ended);
  return static_cast<std::size_t>(std::count_if(
      all.begin(), all.end(), [&](const Record::Entry& entry) { return entry.why.code == code; }));
}

/// Takes its time when a wait begins.
class Slow final : public Observer {
 public:
  void waits(const Event& /*event*/) noexcept override { std::this_thread::sleep_for(takes); }
  static constexpr auto takes = 300ms;
};

// Promise: L3
MORTISE_TEST(Observing, AnObserversTimeIsAPartOfTheCallersTime) {
  Client holder = client();
  Client one = client({.observer = std::make_shared<Slow>()});
  Lock held = holder.make_lock("name");
  held.lock();
  Lock wanted = one.make_lock("name");
  const auto took = own_duration_of([&] { EXPECT_FALSE(wanted.try_lock_for(Slow::takes)); });
  EXPECT_LT(took, Slow::takes + Slow::takes / 2);
}

MORTISE_TEST(Observing, AWaitHasABeginningAndAnEnd) {
  const auto record = std::make_shared<Record>();
  Client holder = client();
  Client one = client({.observer = record});
  Lock held = holder.make_lock("name");
  held.lock();
  Lock wanted = one.make_lock("name", {.label = "me"});
  Worker worker;
  auto token = worker.start([&] {
    wanted.lock();
    const Token own = wanted.token();
    wanted.unlock();
    return own;
  });
  ASSERT_TRUE(record->told(Kind::waits, 1));
  const Record::Entry began = record->all(Kind::waits)[0];
  EXPECT_EQ(began.name, "name");
  EXPECT_EQ(began.label, "me");
  EXPECT_EQ(began.mode, Mode::exclusive);
  EXPECT_EQ(began.token, Token());
  EXPECT_EQ(began.took, 0ns);
  EXPECT_EQ(record->count(Kind::wait_ended), 0U);
  held.unlock();
  const Token own = token.get();
  ASSERT_EQ(record->count(Kind::wait_ended), 1U);
  const Record::Entry end = record->all(Kind::wait_ended)[0];
  EXPECT_FALSE(end.why) << end.why.text;
  EXPECT_EQ(end.token, own);
  EXPECT_GT(end.took, 0ns);
  ASSERT_EQ(record->count(Kind::granted), 1U);
  EXPECT_EQ(record->all(Kind::granted)[0].took, end.took);
  EXPECT_EQ(record->count(Kind::waits), 1U);
}

MORTISE_TEST(Observing, AWaitEndsWithItsReason) {
  const auto record = std::make_shared<Record>();
  Client holder = client();
  Client one = client({.observer = record});
  Lock held = holder.make_lock("name");
  held.lock();
  Lock wanted = one.make_lock("name");
  EXPECT_FALSE(wanted.try_lock_for(answer_time));
  EXPECT_EQ(ended(*record, Errc::timeout), 1U);
  EXPECT_GE(record->all(Kind::wait_ended)[0].took, answer_time);
  Worker worker;
  std::stop_source stop;
  auto stopped = worker.start([&] { return wanted.acquire({.stop = stop.get_token()}); });
  ASSERT_TRUE(record->told(Kind::waits, 2));
  stop.request_stop();
  EXPECT_FALSE(stopped.get());
  EXPECT_EQ(ended(*record, Errc::cancelled), 1U);
  auto closed = worker.start([&] {
    std::error_code ec;
    wanted.lock(ec);
    return ec;
  });
  ASSERT_TRUE(record->told(Kind::waits, 3));
  one.close();
  EXPECT_EQ(closed.get(), Errc::closed);
  EXPECT_EQ(ended(*record, Errc::closed), 1U);
  EXPECT_EQ(record->count(Kind::wait_ended), 3U);
  EXPECT_EQ(record->count(Kind::contended), 1U) << "only the one that ran out of time";
  held.unlock();
}

MORTISE_TEST(Observing, EachWaitEndsOnceWhateverMeets) {
  const auto record = std::make_shared<Record>();
  constexpr int threads = 6;
  constexpr int rounds = 12;
  Client one = client({.observer = record});
  Client other = client();
  std::vector<std::unique_ptr<Worker>> workers;
  std::vector<std::future<void>> done;
  // Made here: a thread that starts late finds a closed client.
  Lock here = one.make_lock("name");
  Lock there = other.make_lock("name");
  const auto contend = [&](Lock& lock, int thread) {
    for (int round = 0; round < rounds; ++round) {
      std::stop_source stop;
      const AcquireOptions options[] = {
          {}, {.wait = 1ms}, {.wait = 0ms}, {.stop = stop.get_token()}};
      const AcquireOptions& chosen = options[(thread + round) % 4];
      std::jthread stopper;
      if (chosen.stop.stop_possible()) stopper = std::jthread([&] { stop.request_stop(); });
      std::error_code ec;
      if (lock.acquire(chosen, ec)) static_cast<void>(lock.release(ec));
      if (ec == Errc::closed) return;
    }
    // The last of each waits until the client is closed.
    std::error_code ec;
    while (!lock.acquire({}, ec) || lock.release(ec) == Released::released) {
      if (ec == Errc::closed) return;
    }
  };
  for (int thread = 0; thread < threads; ++thread) {
    workers.push_back(std::make_unique<Worker>());
    done.push_back(workers.back()->start([&, thread] { contend(here, thread); }));
  }
  Worker rival;
  auto rivals = rival.start([&] { contend(there, 0); });
  EXPECT_TRUE(record->told(Kind::waits, threads * rounds / 2));
  one.close();
  for (std::future<void>& each : done) each.get();
  other.close();
  rivals.get();
  EXPECT_EQ(record->count(Kind::wait_ended), record->count(Kind::waits));
  // close() may end a hold between the threads that pass it on: that one is lost without a grant.
  const std::size_t over = record->count(Kind::released) + record->count(Kind::lost);
  EXPECT_GE(over, record->count(Kind::granted));
  EXPECT_LE(over, record->count(Kind::granted) + 1);
  for (const Record::Entry& end : record->all(Kind::wait_ended)) {
    const bool expected = !end.why || end.why.code == Errc::timeout ||
                          end.why.code == Errc::cancelled || end.why.code == Errc::closed ||
                          end.why.code == Errc::unavailable || end.why.code == Errc::in_doubt;
    EXPECT_TRUE(expected) << end.why.words();
    EXPECT_EQ(end.token == Token(), static_cast<bool>(end.why)) << end.why.words();
  }
}

/// Does something when it learns of the first wait.
class OnWaits final : public Observer {
 public:
  explicit OnWaits(std::function<void()> does) : does_(std::move(does)) {}
  void waits(const Event& /*event*/) noexcept override {
    const auto does = std::exchange(does_, nullptr);
    if (does) does();
  }
  void wait_ended(const Event& /*event*/, const Failure& why) noexcept override {
    EXPECT_EQ(why.code, Errc::closed);
    ++ends_;
  }
  [[nodiscard]] int ends() const { return ends_; }

 private:
  std::function<void()> does_;
  int ends_ = 0;
};

MORTISE_TEST(Observing, AnObserverMayDestroyTheClientOfACallThatWaits) {
  Client holder = client();
  std::optional<Client> one;
  std::optional<Lock> wanted;
  const auto observer = std::make_shared<OnWaits>([&] {
    one.reset();
    wanted.reset();
  });
  one.emplace(client({.observer = observer}));
  Lock held = holder.make_lock("name");
  held.lock();
  wanted.emplace(one->make_lock("name"));
  std::error_code ec;
  wanted->lock(ec);
  EXPECT_EQ(ec, Errc::closed);
  EXPECT_EQ(observer->ends(), 1);
  held.unlock();
}

MORTISE_TEST(Observing, LockAllEndsEachWait) {
  const auto record = std::make_shared<Record>();
  Client holder = client();
  Client one = client({.observer = record});
  Lock held = holder.make_lock("b");
  held.lock();
  Lock a = one.make_lock("a");
  Lock b = one.make_lock("b");
  EXPECT_FALSE(lock_all({a, b}, {.wait = answer_time}));
  EXPECT_EQ(record->count(Kind::wait_ended), record->count(Kind::waits));
  ASSERT_EQ(record->count(Kind::contended), 1U);
  EXPECT_EQ(record->all(Kind::contended)[0].name, "b");
  EXPECT_GT(record->all(Kind::contended)[0].took, 0ns);
  Worker worker;
  std::stop_source stop;
  const std::size_t before = record->count(Kind::waits);
  auto stopped = worker.start([&] {
    return static_cast<bool>(lock_all({a, b}, {.stop = stop.get_token()}));
  });
  ASSERT_TRUE(record->told(Kind::waits, before + 1));
  stop.request_stop();
  EXPECT_FALSE(stopped.get());
  EXPECT_EQ(record->count(Kind::contended), 1U) << "a cancelled call is not contended";
  auto served = worker.start([&] { return static_cast<bool>(lock_all({a, b})); });
  held.unlock();
  EXPECT_TRUE(served.get());
  EXPECT_EQ(record->count(Kind::wait_ended), record->count(Kind::waits));
}

MORTISE_TEST(Observing, EventsOfReadersSayShared, Quality::shared) {
  const auto record = std::make_shared<Record>();
  Client holder = client();
  Client one = client({.observer = record});
  Lock held = holder.make_lock("name");
  held.lock();
  ReadWriteLock wanted = one.make_read_write_lock("name");
  Worker worker;
  auto read = worker.start([&] {
    wanted.lock_shared();
    wanted.unlock_shared();
  });
  ASSERT_TRUE(record->told(Kind::waits, 1));
  held.unlock();
  read.get();
  for (const Kind kind : {Kind::waits, Kind::wait_ended, Kind::granted, Kind::released}) {
    ASSERT_EQ(record->count(kind), 1U);
    EXPECT_EQ(record->all(kind)[0].mode, Mode::shared);
  }
}

MORTISE_TEST(Observing, EventsOfPermitsSayPermit, Quality::permits) {
  const auto record = std::make_shared<Record>();
  Client one = client({.observer = record});
  Semaphore gate = one.make_semaphore("gate", 1);
  Permit first = gate.acquire({.owner = Owner::unique()});
  ASSERT_TRUE(first);
  const std::size_t before = record->count(Kind::waits);
  EXPECT_FALSE(gate.acquire({.wait = answer_time, .owner = Owner::unique()}));
  EXPECT_EQ(record->count(Kind::waits), before + 1);
  EXPECT_EQ(record->count(Kind::wait_ended), before + 1);
  static_cast<void>(first.unlock());
  for (const Kind kind :
       {Kind::waits, Kind::wait_ended, Kind::granted, Kind::contended, Kind::released}) {
    ASSERT_GE(record->count(kind), 1U);
    EXPECT_EQ(record->all(kind)[0].mode, Mode::permit);
  }
}

MORTISE_TEST(Observing, AWaitForAKeyEndsWithItsOutcome, Quality::once) {
  const auto record = std::make_shared<Record>();
  Client runner = client();
  Client one = client({.observer = record});
  Once running = runner.make_once("key");
  mortise::Run run = running.begin();
  ASSERT_TRUE(run);
  Once wanted = one.make_once("key", {.wait = patience});
  Worker worker;
  auto told = worker.start([&] { return wanted.begin().outcome(); });
  ASSERT_TRUE(record->told(Kind::waits, 1));
  static_cast<void>(run.succeed("done"));
  EXPECT_EQ(told.get().result(), "done");
  ASSERT_EQ(record->count(Kind::waits), 1U);
  ASSERT_EQ(record->count(Kind::wait_ended), 1U);
  const Record::Entry end = record->all(Kind::wait_ended)[0];
  EXPECT_EQ(end.mode, Mode::once);
  EXPECT_FALSE(end.why) << end.why.words();
  EXPECT_EQ(end.token, Token()) << "it has the outcome, and no hold";
  EXPECT_EQ(record->count(Kind::granted), 0U);
}

}  // namespace
}  // namespace mortise::contract
