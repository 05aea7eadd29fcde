// SPDX-License-Identifier: MIT
// Goal: a hold that the server took away before its caller had it is no hold (S6): what tells of a
// grant and what tells of its end come by two ways, and so in any order. Method: a backend that
// tells of the end between the grant and the caller's next step, or even before the grant.
#include "support/contract_core.hpp"
#include "support/contract_worker.hpp"

#include <mutex>

namespace mortise::contract {
namespace {

class CoreTakenEarly : public CoreAnswers {
 protected:
  void take(const Acquisition& operation, std::uint64_t number) const {
    script_->host.load()->hold_lost({.name = operation.request().name,
                                     .attempt = operation.request().attempt,
                                     .number = number},
                                    {Errc::lost, "taken away"});
  }
  // The first grant is over before the caller has it, the next one stands.
  void expect_the_second_grant() {
    Client client = open();
    Lock lock = client.make_lock("name");
    lock.lock();
    EXPECT_EQ(lock.token().value(), 12U * 1024) << "the hold that was taken away stands";
    EXPECT_EQ(script_->released().size(), 1U) << "given back, in case it was not";
    lock.unlock();
  }
};

TEST_F(CoreTakenEarly, BetweenTheGrantAndItsCaller) {
  be_kind();
  std::uint64_t number = 10;
  script_->on_acquire = [&](const auto& operation) {
    operation->granted(grant(++number));
    if (number == 11) take(*operation, number);
  };
  expect_the_second_grant();
}

TEST_F(CoreTakenEarly, BeforeTheAnswerThatGrantsIt) {
  be_kind();
  std::uint64_t number = 10;
  script_->on_acquire = [&](const auto& operation) {
    if (++number == 11) take(*operation, number);
    operation->granted(grant(number));
  };
  expect_the_second_grant();
}

// A release leaves together with the attempt of the next waiter. The store grants that attempt, and
// an administrator ends the hold, before the waiter has the attempt. Promise: S1
TEST_F(CoreTakenEarly, BeforeTheNextWaiterHasTheAttemptThatCameWithARelease) {
  std::uint64_t number = 10;
  script_->on_acquire = [&](const auto& operation) { operation->granted(grant(++number)); };
  script_->on_release = [&](const auto& release) {
    if (const auto& attempt = release->successor()) {
      attempt->granted(grant(++number));
      take(*attempt, number);
    }
    release->answered(Released::released);
  };
  Client client = open();
  Lock lock = client.make_lock("name");
  Lock other = client.make_lock("name", {.lease = 10s});  // so that the hold is not passed on
  lock.lock();
  Worker worker;
  auto token = worker.start([&] {
    const std::lock_guard hold(other);
    return other.token().value();
  });
  ASSERT_TRUE(worker.falls_asleep());
  lock.unlock();
  EXPECT_EQ(token.get(), 13U * 1024) << "the hold that was taken away stands";
}

TEST_F(CoreTakenEarly, AnOlderHoldOfTheNameIsNoReason) {
  be_kind();
  script_->on_acquire = [&](const auto& operation) {
    operation->granted(grant(12));
    take(*operation, 11);
  };
  Client client = open();
  Lock lock = client.make_lock("name");
  lock.lock();
  EXPECT_EQ(lock.token().value(), 12U * 1024);
  EXPECT_TRUE(script_->released().empty());
  lock.unlock();
}

}  // namespace
}  // namespace mortise::contract
