// SPDX-License-Identifier: MIT
// Goal: options mean what they say, and impossible ones are refused with their names (section "what
// goes wrong"). Method: each limit from both sides; labels and longest holds seen from another
// client.
#include "support/contract_suites.hpp"

#include <unistd.h>

#include <limits>
#include <string>

namespace mortise::contract {
namespace {

/// Expects that a call is refused as misconfigured, by a message that names the culprit.
template <class Callable>
void expect_refused(Callable call, const std::string& culprit) {
  try {
    call();
    ADD_FAILURE() << "accepted; expected a complaint about " << culprit;
  } catch (const Error& error) {
    EXPECT_EQ(error.errc(), Errc::misconfigured) << error.what();
    EXPECT_NE(std::string(error.what()).find(culprit), std::string::npos) << error.what();
  }
}

MORTISE_TEST(Options, AreCheckedWhenTheLockIsMade) {
  Client one = client();
  const auto make = [&](const LockOptions& options) {
    return [&one, options] { static_cast<void>(one.make_lock("name", options)); };
  };
  expect_refused(make({.lease = 99ms}), "lease");
  expect_refused(make({.lease = 0ms}), "lease");
  expect_refused(make({.lease = -1s}), "lease");
  expect_refused(make({.lease = 24h + 1ms}), "lease");
  expect_refused(make({.lease = std::chrono::milliseconds::max()}), "lease");
  expect_refused(make({.lease = std::chrono::milliseconds::min()}), "lease");
  expect_refused(make({.max_hold = 0ms}), "max_hold");
  expect_refused(make({.max_hold = -1ms}), "max_hold");
  expect_refused(make({.lease = 10s, .max_hold = 5s}), "max_hold");
  expect_refused(make({.label = std::string(129, 'x')}), "label");
  expect_refused(make({.label = "two\nlines"}), "label");
  expect_refused(make({.label = std::string("\0", 1)}), "label");
  expect_refused(make({.label = "\x7f"}), "label");
  expect_refused(make({.label = "no UTF-8: \xff"}), "label");
  expect_refused(make({.label = "C1: \xc2\x9b"}), "label");
  expect_refused(make({.label = "from right to left: \xe2\x80\xae"}), "label");
  EXPECT_NO_THROW(make({.lease = 100ms})());
  EXPECT_NO_THROW(make({.lease = 24h})());
  EXPECT_NO_THROW(make({.lease = 10s, .max_hold = 10s})());
  EXPECT_NO_THROW(make({.lease = 10s, .renew = false, .max_hold = 1ms})());
  EXPECT_NO_THROW(make({.label = std::string(128, 'x')})());
  EXPECT_NO_THROW(make({.label = "gr\xc3\xbc\xc3\x9f"
                                 "e"})());
}

MORTISE_TEST(Options, OfTheClientAreCheckedWhenItIsMade) {
  const auto make = [&](const ClientOptions& options) {
    return [this, options] { static_cast<void>(client(options)); };
  };
  expect_refused(make({.give_up = -1ms}), "give_up");
  expect_refused(make({.turn = -1ms}), "turn");
  expect_refused(make({.turn_handoffs = 1'001}), "turn_handoffs");
  EXPECT_NO_THROW(make({.give_up = 0ms, .turn = 0ms, .turn_handoffs = 0})());
  EXPECT_NO_THROW(make({.turn_handoffs = 1'000})());
  expect_refused([] { static_cast<void>(Client(std::unique_ptr<Backend>())); }, "backend");
}

MORTISE_TEST(Options, TheLabelIsSeenByOthers, Quality::holders) {
  Client one = client();
  Client other = client();
  Lock labelled = one.make_lock("labelled", {.label = "order service, shard 7 \xc3\xa4"});
  Lock longest = one.make_lock("longest", {.label = std::string(128, 'l')});
  Lock plain = one.make_lock("plain");
  EXPECT_FALSE(other.make_lock("labelled").holder().has_value());
  labelled.lock();
  longest.lock();
  plain.lock();
  const auto label = [&](const std::string& name) {
    return other.make_lock(name).holder().value_or(Holder{.label = "nobody"}).label;
  };
  EXPECT_EQ(label("labelled"), "order service, shard 7 \xc3\xa4");
  EXPECT_EQ(label("longest"), std::string(128, 'l'));
  char host[65] = {};
  ASSERT_EQ(::gethostname(host, sizeof host - 1), 0);
  EXPECT_EQ(label("plain"), std::string(host) + ":" + std::to_string(::getpid()));
  labelled.unlock();
  EXPECT_EQ(label("labelled"), "nobody");
  longest.unlock();
  plain.unlock();
}

MORTISE_TEST(Options, TheHolderIsDescribed, Quality::holders) {
  Client one = client();
  Client other = client();
  const LockOptions options{.lease = 20s, .label = "me"};
  Lock lock = one.make_lock("name", options);
  lock.lock();
  for (Client* const asking : {&one, &other}) {
    const std::optional<Holder> holder = asking->make_lock("name").holder();
    ASSERT_TRUE(holder.has_value());
    EXPECT_EQ(holder->label, "me");
    if (holder->token) {
      EXPECT_EQ(holder->token, lock.token());
    }
    if (holder->expires_in) {
      EXPECT_GT(*holder->expires_in, 0ms);
      EXPECT_LE(*holder->expires_in, lease_of(options));
    }
    if (holder->waiters) {
      EXPECT_EQ(*holder->waiters, 0U);
    }
  }
  lock.unlock();
  EXPECT_FALSE(other.make_lock("name").holder().has_value());
}

MORTISE_TEST(Options, TheLongestHoldEndsAHoldThatIsRenewed) {
  take_any_clock();
  const auto record = std::make_shared<Record>();
  Client one = client({.observer = record});
  Client other = client();
  const auto lease = std::max(150ms, lease_of({.lease = 150ms}));
  const LockOptions options = real_time() ? LockOptions{.lease = lease, .max_hold = lease * 2}
                                          : LockOptions{.lease = 30s, .max_hold = 45s};
  Lock lock = one.make_lock("name", options);
  Lock wanted = other.make_lock("name");
  lock.lock();
  EXPECT_LE(lock.valid_for(), options.max_hold);
  const std::stop_token lost = lock.lost();
  if (!real_time()) {
    for (std::size_t i = 1; i <= 4; ++i) {
      clock().advance(10s);
      ASSERT_TRUE(record->told(Record::Kind::renewed, i));
      EXPECT_FALSE(lost.stop_requested());
    }
    EXPECT_EQ(lock.valid_for(), 5s);
    clock().advance(5s - 1ns);
    EXPECT_EQ(lock.valid_for(), 1ns);
    clock().advance(1ns);
    EXPECT_EQ(lock.valid_for(), 0ns);
  }
  ASSERT_TRUE(eventually([&] { return lost.stop_requested(); }));
  ASSERT_TRUE(record->told(Record::Kind::lost, 1));
  if (real_time()) {
    EXPECT_TRUE(taken_within(wanted, fallback_period * 2)) << "a hold that ended must be freed";
  } else {
    // The server's lease is far from its end: the name is free because it was given back.
    EXPECT_TRUE(eventually([&] { return wanted.try_lock(); }));
  }
  EXPECT_EQ(lock.release(), Released::was_lost);
  wanted.unlock();
}

MORTISE_TEST(Options, TheLongestHoldBeginsAnewForTheNextOwner, Hook::hand_clock) {
  take_the_clock();
  Client one = client({.turn = 1h});
  const LockOptions options{.lease = 300s, .renew = false, .max_hold = 60s};
  Lock lock = one.make_lock("name", options);
  lock.lock();
  EXPECT_EQ(lock.valid_for(), 60s);
  clock().advance(50s);
  EXPECT_EQ(lock.valid_for(), 10s);
  Worker worker;
  auto valid = worker.start([&] {
    const std::lock_guard hold(lock);
    return lock.valid_for();
  });
  ASSERT_TRUE(worker.falls_asleep());
  lock.unlock();
  EXPECT_EQ(valid.get(), 60s);
}

MORTISE_TEST(Options, ErrorsAnswerQuestions) {
  for (int value = static_cast<int>(Errc::timeout); value <= static_cast<int>(Errc::closed);
       ++value) {
    const std::error_code code = make_error_code(static_cast<Errc>(value));
    EXPECT_EQ(std::string(code.category().name()), "mortise");
    EXPECT_FALSE(code.message().empty());
    EXPECT_EQ(is_ambiguous(code), code == Errc::in_doubt);
    EXPECT_EQ(is_contention(code), code == Errc::timeout || code == Errc::cancelled);
    EXPECT_EQ(is_retryable(code), code == Errc::timeout || code == Errc::unavailable ||
                                      code == Errc::in_doubt || code == Errc::exhausted);
  }
  EXPECT_FALSE(is_retryable(std::make_error_code(std::errc::timed_out)));
}

MORTISE_TEST(Options, ClientsConnectAndTellWhatTheyCan) {
  Client one = client();
  EXPECT_NO_THROW(one.check(patience));
  const Capabilities can = one.capabilities();
  EXPECT_NE(can.leases, Support::unknown);
  EXPECT_EQ(can.fencing, Support::yes);
  EXPECT_GT(can.safety_margin.permille, 0);
  EXPECT_GT(can.safety_margin.least, 0ms);
}

}  // namespace
}  // namespace mortise::contract
