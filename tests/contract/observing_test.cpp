// SPDX-License-Identifier: MIT
// Goal: an observer is told what happened, once, on a thread where it may do as it likes. Method:
// an observer that records, and others that block, lock and destroy.
#include "support/contract_suites.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mortise::contract {
namespace {

using Kind = Record::Kind;

MORTISE_TEST(Observing, AHoldIsGrantedAndReleasedOnce) {
  const auto record = std::make_shared<Record>();
  Client one = client({.observer = record});
  Lock lock = one.make_lock("name", {.label = "me"});
  lock.lock();
  const Token token = lock.token();
  lock.lock();
  lock.unlock();
  EXPECT_EQ(record->count(Kind::granted), 1U) << "a re-entry is not told";
  EXPECT_EQ(record->count(Kind::released), 0U) << "an inner unlock is not told";
  lock.unlock();
  ASSERT_EQ(record->count(Kind::granted), 1U);
  ASSERT_EQ(record->count(Kind::released), 1U);
  for (const Kind kind : {Kind::granted, Kind::released}) {
    const Record::Entry told = record->all(kind)[0];
    EXPECT_EQ(told.name, "name");
    EXPECT_EQ(told.label, "me");
    EXPECT_EQ(told.token, token);
    EXPECT_GE(told.took, 0ns);
    EXPECT_LT(told.took, patience);
  }
  EXPECT_EQ(record->all(Kind::released)[0].outcome, Released::released);
  EXPECT_EQ(record->count(Kind::contended), 0U);
  EXPECT_EQ(record->count(Kind::lost), 0U);
}

MORTISE_TEST(Observing, ContentionIsTold) {
  const auto record = std::make_shared<Record>();
  Client holder = client();
  Client one = client({.observer = record});
  Lock held = holder.make_lock("name");
  held.lock();
  Lock wanted = one.make_lock("name");
  const std::chrono::nanoseconds tried = duration_of([&] { EXPECT_FALSE(wanted.try_lock()); });
  EXPECT_FALSE(wanted.try_lock_for(answer_time));
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(wanted.acquire({.stop = stop.get_token()}));
  ASSERT_EQ(record->count(Kind::contended), 2U) << "a cancelled call is not contended";
  const std::vector<Record::Entry> contended = record->all(Kind::contended);
  EXPECT_EQ(contended[0].name, "name");
  EXPECT_GE(contended[0].took, 0ns);
  EXPECT_LE(contended[0].took, tried);
  EXPECT_GE(contended[1].took, answer_time);
  EXPECT_LT(contended[1].took, patience);
  EXPECT_EQ(record->count(Kind::granted), 0U);
  held.unlock();
}

MORTISE_TEST(Observing, HandOversAreTold) {
  const auto record = std::make_shared<Record>();
  Client one = client({.turn = 10s, .observer = record});
  Lock lock = one.make_lock("name");
  lock.lock();
  Worker worker;
  auto served = worker.start([&] {
    lock.lock();
    lock.unlock();
  });
  ASSERT_TRUE(worker.falls_asleep());
  lock.unlock();
  served.get();
  ASSERT_TRUE(record->told(Kind::released, 2));
  ASSERT_EQ(record->count(Kind::granted), 2U);
  EXPECT_LT(record->all(Kind::granted)[0].token, record->all(Kind::granted)[1].token);
}

MORTISE_TEST(Observing, ALossIsToldAndNotAsARelease, Quality::loss) {
  take_any_clock();
  const auto record = std::make_shared<Record>();
  Client one = client({.observer = record});
  Lock lock = one.make_lock("name", losable());
  lock.lock();
  const Token token = lock.token();
  lose(lock);
  ASSERT_TRUE(record->told(Kind::lost, 1));
  lock.unlock();
  one.close();
  ASSERT_TRUE(record->told(Kind::lost, 1));
  EXPECT_EQ(record->all(Kind::lost)[0].token, token);
  EXPECT_EQ(record->count(Kind::released), 0U);
}

MORTISE_TEST(Observing, FailedRenewalsAreToldWithTheReason, Quality::leases, Hook::unreachable) {
  const auto lose_one = [&] {
    const auto record = std::make_shared<Record>();
    Client one = client({.observer = record});
    const LockOptions options{.lease = std::max(1500ms, short_lease())};
    const std::chrono::milliseconds lease = lease_of(options);
    Lock lock = one.make_lock("name", options);
    lock.lock();
    store().set_reachable(false);
    const std::string server = store().backend()->describe().name;
    EXPECT_TRUE(record->told(Record::Kind::lost, 1));
    const std::vector<Record::Entry> failed = record->all(Record::Kind::failed);
    EXPECT_GE(failed.size(), 1U);
    for (const Record::Entry& each : failed) {
      EXPECT_TRUE(each.why);
      EXPECT_EQ(each.name, "name");
      EXPECT_EQ(each.why.text.find("name: the renewal failed: "), 0U) << each.why.text;
    }
    // Once a second, and once more for each kind of failure on the way.
    EXPECT_LE(failed.size(), static_cast<std::size_t>(lease / 1s) + 4);
    const Failure lost = record->all(Record::Kind::lost)[0].why;
    EXPECT_EQ(lost.code, Errc::lost);
    EXPECT_NE(lost.text.find("the last renewal failed: " + server), std::string::npos) << lost.text;
    store().set_reachable(true);
    static_cast<void>(lock.release());
    return lost.text;
  };
  // The store knows more than that, unless the machine left it no time to find it out.
  std::string why = lose_one();
  for (int i = 0; i < 4 && why.find("no answer in time") != std::string::npos; ++i) {
    why = lose_one();
  }
  EXPECT_EQ(why.find("no answer in time"), std::string::npos) << why;
}

/// Does something whenever it is told that something was granted.
class OnGranted final : public Observer {
 public:
  explicit OnGranted(std::function<void()> does) : does_(std::move(does)) {}
  void granted(const Event& /*event*/) noexcept override {
    const auto does = std::exchange(does_, nullptr);
    if (does) does();
  }

 private:
  std::function<void()> does_;
};

MORTISE_TEST(Observing, AnObserverMayLock) {
  std::optional<Lock> second;
  bool locked = false;
  const auto observer = std::make_shared<OnGranted>([&] {
    locked = second->try_lock();
    if (locked) second->unlock();
  });
  Client one = client({.observer = observer});
  second.emplace(one.make_lock("other name"));
  Lock lock = one.make_lock("name");
  lock.lock();
  lock.unlock();
  EXPECT_TRUE(locked);
  second.reset();
}

MORTISE_TEST(Observing, AnObserverMayDestroyTheClient) {
  std::optional<Client> one;
  const auto observer = std::make_shared<OnGranted>([&] { one.reset(); });
  one.emplace(client({.observer = observer}));
  Lock lock = one->make_lock("name");
  lock.lock();
  EXPECT_FALSE(one.has_value());
  EXPECT_EQ(lock.valid_for(), 0ns);
  EXPECT_EQ(lock.release(), Released::unknown);
}

MORTISE_TEST(Observing, AnObserverMayDestroyTheLockThatIsLocked) {
  std::optional<Client> one;
  std::optional<Lock> lock;
  const auto observer = std::make_shared<OnGranted>([&] {
    one.reset();
    lock.reset();
  });
  one.emplace(client({.observer = observer}));
  lock.emplace(one->make_lock("name"));
  std::error_code ec;
  lock->lock(ec);
  EXPECT_FALSE(lock.has_value());
}

MORTISE_TEST(Observing, ASlowObserverDelaysNoRenewal, Quality::leases) {
  // Told of renewals as well, each call blocks: later news wait, renewals do not.
  class Slow final : public Observer {
   public:
    void renewed(const Event& /*event*/) noexcept override { static_cast<void>(end.wait()); }
    Signal end;
  };
  const auto slow = std::make_shared<Slow>();
  Party one = party({.observer = slow});
  Lock lock = one.client.make_lock("name", {.lease = renewed_lease()});
  lock.lock();
  const std::stop_token lost = lock.lost();
  // More than news have threads.
  EXPECT_TRUE(eventually([&] { return one.probe->renewals_of("name") >= 6; }));
  EXPECT_GT(lock.valid_for(), 0ns);
  slow->end.set();
  EXPECT_FALSE(lost.stop_requested());
  EXPECT_EQ(lock.release(), Released::released);
}

}  // namespace
}  // namespace mortise::contract
