// SPDX-License-Identifier: MIT
// Goal: what new users write without reading the documentation compiles, and does what it says.
// Method: the guesses of new users, one after the other, on `memory:`. A guess is a line with its
// number; those that must not compile are in tests/habits/guesses/refused.cpp, with the reasons.
#include <mortise/mortise.hpp>

#include <gtest/gtest.h>

#include <condition_variable>
#include <functional>
#include <iostream>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <sstream>
#include <string>
#include <system_error>
#include <thread>
#include <unordered_set>
#include <utility>
#include <vector>

namespace mortise::contract {
namespace {

using namespace std::chrono_literals;

class Guesses : public ::testing::Test {
 protected:
  /// Whether another thread of another client finds the name held.
  static bool is_held(const std::string& name) {
    bool held = false;
    std::thread([&] {
      Client other("memory:guesses");
      Lock lock = other.make_lock(name);
      held = !lock.try_lock();
      if (!held) lock.unlock();
    }).join();
    return held;
  }
  template <class Value>
  static std::string written(const Value& value) {
    std::ostringstream out;
    out << value;
    return out.str();
  }

  Client client{"memory:guesses"};    // NOLINT(misc-non-private-member-variables-in-classes)
  Lock lock = client.make_lock("x");  // NOLINT(misc-non-private-member-variables-in-classes)
};

TEST_F(Guesses, StandardGuardsTakeALock) {
  {
    const std::unique_lock lk(lock, std::try_to_lock);  // t01
    EXPECT_TRUE(lk.owns_lock() && is_held("x"));
  }
  {
    const std::unique_lock lk(lock, 5s);  // t02
    EXPECT_TRUE(lk.owns_lock() && is_held("x"));
  }
  {
    const std::lock_guard g(lock);  // t03
    EXPECT_TRUE(is_held("x"));
  }
  Lock z = client.make_lock("z");
  std::lock(lock, z);  // t33
  EXPECT_TRUE(is_held("x") && is_held("z"));
  lock.unlock();
  z.unlock();
  {
    const std::scoped_lock two(lock, z);  // t34
    EXPECT_TRUE(is_held("x") && is_held("z"));
  }
  ReadWriteLock rw = client.make_read_write_lock("c");
  {
    const std::shared_lock r(rw);  // t42
    EXPECT_TRUE(is_held("c"));
    EXPECT_EQ(rw.reader().hold_count(), 1U);
  }
  std::condition_variable_any cv;
  std::unique_lock lk(lock);
  EXPECT_EQ(cv.wait_for(lk, 1ms), std::cv_status::timeout);  // t55
  EXPECT_TRUE(lk.owns_lock() && is_held("x"));
  lk.unlock();
  EXPECT_FALSE(is_held("x"));
}

TEST_F(Guesses, AGuardIsMadeOfALockOrOfAName) {
  {
    const Guard g(client.make_lock("y"));  // t05
    EXPECT_TRUE(g && is_held("y"));
  }
  {
    const Guard g(client, "y");  // t06
    EXPECT_TRUE(g && is_held("y"));
    EXPECT_EQ(g.name(), "y");
  }
  {
    const Guard g(lock, 2s);  // t12
    EXPECT_TRUE(g && is_held("x"));
  }
  {
    const Guard g(lock, std::try_to_lock);  // t13
    EXPECT_TRUE(g && is_held("x"));
  }
  ReadWriteLock rw = client.make_read_write_lock("c");
  {
    const Guard g(rw.reader());  // t45
    EXPECT_TRUE(g && is_held("c"));
  }
  Guard g;
  g = Guard(lock);  // t74
  EXPECT_TRUE(g && is_held("x"));
  g.unlock();
  std::optional<Guard> kept;
  kept.emplace(lock);  // t75
  EXPECT_TRUE(*kept && is_held("x"));
  kept.reset();
  EXPECT_FALSE(is_held("x"));
}

TEST_F(Guesses, AGuardThatDoesNotGetTheLockSaysWhy) {
  Client other("memory:guesses");
  const Guard theirs(other, "x", {.owner = Owner::unique()});
  const Guard g{lock, {.wait = 0s}};  // t77
  EXPECT_FALSE(g);
  EXPECT_EQ(g.error(), Errc::timeout);
  EXPECT_NE(g.error().message(), "");
  EXPECT_FALSE(Guard(lock, std::try_to_lock));
  EXPECT_FALSE(Guard(lock, 1ms));
  EXPECT_FALSE(Guard(client, "x", 1ms));
  EXPECT_FALSE(Guard(client, "x", std::try_to_lock));
  EXPECT_FALSE(Guard(client.make_lock("x"), 0.001s)) << "any duration is a wait";
  EXPECT_FALSE(client.with_lock("x", {.wait = 1ms}, [] { ADD_FAILURE(); }));
}

TEST_F(Guesses, AGuardOfANameTakesTheOptionsOfBoth) {
  const auto now = std::chrono::steady_clock::now();
  const Guard g(client, "y", {.wait = 2s}, {.lease = 100s, .label = "me"});
  EXPECT_TRUE(g);
  EXPECT_GT(g.valid_for(), 50s);
  EXPECT_EQ(client.make_lock("y").holder()->label, "me");
  std::error_code ec;
  const Guard late(client, "y", {.wait = 1ms, .owner = Owner::unique()}, ec);
  EXPECT_EQ(ec, Errc::timeout);
  const Guard wrong(client, "", {}, ec);
  EXPECT_EQ(ec, Errc::misconfigured);
  EXPECT_EQ(wrong.error(), ec);
  EXPECT_NE(wrong.error_text().find("name is empty"), std::string::npos) << wrong.error_text();
  const Guard short_lease(client, "z", {}, {.lease = 1ms}, ec);
  EXPECT_EQ(ec, Errc::misconfigured);
  EXPECT_THROW(static_cast<void>(Guard(client, "")), Error);
  EXPECT_LT(std::chrono::steady_clock::now() - now, 60s);
}

TEST_F(Guesses, ATokenIsWrittenComparedAndHashed) {
  const Guard g(lock, {.wait = 2s});
  EXPECT_EQ(written(g.token()), std::to_string(g.token().value()));          // t15
  EXPECT_EQ(written(g.token().value()), std::to_string(g.token().value()));  // t16
  std::unordered_set<Token> s;                                               // t18
  s.insert(g.token());
  EXPECT_EQ(s.count(lock.token()), 1U);
  EXPECT_EQ(s.count(Token(1)), 0U);
#ifdef __cpp_lib_format
  EXPECT_EQ(std::format("{}", Token(5)), "5");
  EXPECT_EQ(std::format("{:>10}", Errc::timeout), "   timeout");
#endif  // t19: with a standard library that has <format>
}

TEST_F(Guesses, AGuardUnlocksAndTellsItsLoss) {
  Guard g(lock);
  std::jthread t([&](const std::stop_token&) {});
  EXPECT_EQ(g.unlock(), Released::released);  // t24
  EXPECT_FALSE(g || is_held("x"));
  const Guard again(lock);
  bool lost = false;
  const std::stop_callback cb(again.lost(), [&] { lost = true; });  // t27
  client.close();
  EXPECT_TRUE(lost);
}

TEST_F(Guesses, ALockHasOptionsAndIsMoved) {
  const Lock l2 = client.make_lock("y", {.lease = 30s});  // t29
  EXPECT_EQ(l2.name(), "y");
  std::vector<Lock> v;
  v.push_back(client.make_lock("z"));  // t32
  EXPECT_EQ(v.front().name(), "z");
  const Guard g(lock);
  const auto h = lock.holder();
  ASSERT_TRUE(h);
  EXPECT_GT(h->expires_in->count(), 0);  // t66
  EXPECT_NE(h->label, "");
}

TEST_F(Guesses, ALockIsTakenWithinATime) {
  ASSERT_TRUE(lock.try_lock_for(2s));  // t57
  EXPECT_TRUE(is_held("x"));
  lock.unlock();
}

TEST_F(Guesses, SeveralLocksAreTakenAsOne) {
  {
    const auto gs = lock_all({lock, lock}, {.wait = 2s});  // t36
    EXPECT_TRUE(gs && is_held("x"));
    EXPECT_EQ(gs.size(), 2U);
    EXPECT_EQ(gs.holds().size(), 1U);
  }
  auto a = client.make_lock("a");
  {
    const auto gs = lock_all({a, client.make_lock("b")}, {.wait = 2s});  // t37
    EXPECT_TRUE(gs && is_held("a") && is_held("b"));
    EXPECT_EQ(gs.token("a"), a.token());
  }
  std::vector<Lock> v;
  EXPECT_TRUE(lock_all(v, {.wait = 2s}));  // t38
  v.push_back(client.make_lock("c"));
  v.push_back(client.make_lock("d"));
  {
    const auto gs = lock_all(v, {.wait = 2s});
    EXPECT_TRUE(gs && is_held("c") && is_held("d"));
  }
  EXPECT_FALSE(is_held("c") || is_held("d"));
}

TEST_F(Guesses, APermitIsTakenWithinATime) {
  auto sem = client.make_semaphore("s", 4);
  if (auto p = sem.try_acquire_for(2s)) {  // t41
    EXPECT_TRUE(p.token());
  } else {
    ADD_FAILURE() << p.error_text();
  }
}

TEST_F(Guesses, AnOutcomeIsTrueIfTheKeySucceeded) {
  auto o = client.make_once("k").run([] { return std::string("x"); });
  EXPECT_EQ(written(o.result()), "x");  // t48
  if (o) {                              // t51
    EXPECT_EQ(o.state(), KeyState::succeeded);
  } else {
    ADD_FAILURE();
  }
  EXPECT_FALSE(client.make_once("never").look());
  EXPECT_THROW(client.make_once("bad").run([] { throw std::runtime_error("no"); }),
               std::runtime_error);
  const Outcome failed = client.make_once("bad").look();
  EXPECT_FALSE(failed);
  EXPECT_EQ(failed.reason(), "no");
}

TEST_F(Guesses, AFunctionIsCalledWithTheLock) {
  bool called = false;
  client.with_lock("x", [&] { called = is_held("x"); });  // t54
  EXPECT_TRUE(called);
  EXPECT_FALSE(is_held("x"));
  EXPECT_TRUE(client.with_lock("x", {.wait = 2s}, [] {}));
  const std::optional<int> number = client.with_lock("x", {.wait = 2s}, [] { return 42; });
  EXPECT_EQ(number, 42);
  const auto token =
      client.with_lock("x", {.wait = 2s}, {.lease = 5s}, [](const Guard& g) { return g.token(); });
  EXPECT_TRUE(token && token->value() > 0);
  EXPECT_THROW(client.with_lock("x", [] { throw std::runtime_error("no"); }), std::runtime_error);
  EXPECT_FALSE(is_held("x")) << "also if the function throws";
}

TEST_F(Guesses, AClientIsOpenedAndChecked) {
  Client c3(std::string("memory:"));
  Client c4("memory:", {.observer = nullptr});  // t60
  c3.check();                                   // t65
  c4.check(2s);                                 // t64
  std::error_code ec = Errc::protocol;
  c4.check(ec);
  EXPECT_FALSE(ec);
}

TEST_F(Guesses, TheVersionIsText) {
  EXPECT_EQ(written(mortise::version()), MORTISE_VERSION);  // t67
  EXPECT_EQ(written(MORTISE_VERSION),                       // t68
            std::to_string(MORTISE_VERSION_MAJOR) + "." + std::to_string(MORTISE_VERSION_MINOR) +
                "." + std::to_string(MORTISE_VERSION_PATCH));
}

TEST_F(Guesses, AnErrorIsCaughtByEachOfItsTypes) {
  client.close();
  int caught = 0;
  try {
    lock.lock();
  } catch (const mortise::Error& e) {  // t69
    ++caught;
    EXPECT_EQ(e.errc(), Errc::closed);
  }
  try {
    lock.lock();
  } catch (const mortise::Error& e) {
    if (e.code() == mortise::Errc::closed) ++caught;  // t70
  }
  try {
    lock.lock();
  } catch (const std::system_error&) {  // t71
    ++caught;
  }
  EXPECT_EQ(caught, 3);
}

}  // namespace
}  // namespace mortise::contract
