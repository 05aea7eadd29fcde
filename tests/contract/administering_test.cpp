// SPDX-License-Identifier: MIT
// Goal: an administrator sees which names are held, and is told what a store cannot do. Method:
// hostile names, small pages, names that come and go while pages are read, and what makes no sense.
#include "support/contract_suites.hpp"
#include "support/hostile_names.hpp"

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace mortise::contract {
namespace {

using test::hostile_names;
using NameList = std::vector<std::string>;

/// All pages, one after the other, each of `limit` names at most.
NameList names_of(Client& asking, const std::string& prefix, std::size_t limit = 100) {
  NameList names;
  ListOptions options{.limit = limit, .wait = patience};
  do {
    NamePage page = asking.list(prefix, options);
    EXPECT_LE(page.names.size(), limit);
    names.insert(names.end(), page.names.begin(), page.names.end());
    options.cursor = page.cursor;
  } while (!options.cursor.empty());
  return names;
}

NameList sorted(NameList names) {
  std::sort(names.begin(), names.end());
  return names;
}

/// Each once, in order, where the store may tell a name twice.
NameList distinct(const NameList& names) {
  const std::set<std::string> set(names.begin(), names.end());
  return {set.begin(), set.end()};
}

LockOptions long_lease() { return {.lease = 60s}; }

MORTISE_TEST(Administering, ListsWhatIsHeldAndNothingElse, Quality::lists) {
  Client one = client();
  Client asking = client();
  EXPECT_EQ(names_of(asking, ""), NameList{});
  Lock a = one.make_lock("a", long_lease());
  Lock b = one.make_lock("b", long_lease());
  Lock freed = one.make_lock("freed", long_lease());
  for (Lock* const each : {&a, &b, &freed}) each->lock();
  freed.unlock();
  EXPECT_EQ(sorted(names_of(asking, "")), (NameList{"a", "b"}));
  EXPECT_EQ(names_of(one, "b"), NameList{"b"}) << "whoever holds them";
  EXPECT_EQ(names_of(asking, "c"), NameList{});
  a.unlock();
  EXPECT_EQ(names_of(asking, ""), NameList{"b"});
  b.unlock();
  EXPECT_EQ(names_of(asking, ""), NameList{});
}

MORTISE_TEST(Administering, ListsNoKeys, Quality::lists, Quality::once) {
  Client one = client();
  mortise::Run running = one.make_once("a").begin();
  ASSERT_TRUE(running);
  Lock lock = one.make_lock("b", long_lease());
  lock.lock();
  EXPECT_EQ(names_of(one, ""), NameList{"b"});
  if (has(Quality::queues)) {
    EXPECT_TRUE(one.queue("a", {.wait = patience}).holders.empty());
  }
  if (has(Quality::forces)) {
    EXPECT_TRUE(one.force_release("a", {.wait = patience}).empty());
  }
  running.succeed("");
  EXPECT_EQ(one.make_once("a").look().state(), KeyState::succeeded);
}

MORTISE_TEST(Administering, ListsNoHoldThatHasLapsed, Quality::lists, Quality::leases,
             Hook::hand_clock) {
  take_the_clock();
  Client one = client();
  Client asking = client();
  Lock lock = one.make_lock("a", {.lease = 1s, .renew = false});
  lock.lock();
  EXPECT_EQ(names_of(asking, ""), NameList{"a"});
  clock().advance(1s);
  EXPECT_EQ(names_of(asking, ""), NameList{});
  EXPECT_TRUE(asking.queue("a", {.wait = patience}).holders.empty());
  lock.unlock();
}

MORTISE_TEST(Administering, ListsNamesOfAnyBytesByAnyPrefix, Quality::lists) {
  Client one = client();
  Client asking = client();
  std::deque<Lock> locks;
  NameList names;
  for (const std::string& name : hostile_names()) {
    // Three bytes each where they are escaped, and that be kept whole.
    if (has(Quality::lists_long_names) || name.size() <= 30) names.push_back(name);
    locks.push_back(one.make_lock(name, long_lease()));
    locks.back().lock();
  }
  const NamePage all = asking.list("", {.limit = longest_page, .wait = patience});
  EXPECT_EQ(distinct(names_of(asking, "")), sorted(names));
  if (all.cursor.empty()) {
    EXPECT_EQ(all.too_long, hostile_names().size() - names.size());
  }
  NameList prefixes = hostile_names();
  prefixes.insert(prefixes.end(), {"a", "m", std::string(511, 'x'), std::string(3, '\xff')});
  for (const std::string& prefix : prefixes) {
    NameList expected;
    for (const std::string& name : names) {
      if (name.starts_with(prefix)) expected.push_back(name);
    }
    EXPECT_EQ(distinct(names_of(asking, prefix)), sorted(expected))
        << ::testing::PrintToString(prefix);
  }
  for (Lock& lock : locks) lock.unlock();
  EXPECT_EQ(names_of(asking, ""), NameList{});
}

// A thousand names are held all the while; others come and go, before and behind them and between.
MORTISE_TEST(Administering, PagesMissNoNameThatIsHeldThroughout, Quality::lists) {
  have_long_leases();
  Client one = client();
  Client asking = client();
  std::deque<Lock> locks;
  for (int i = 0; i < 1'000; ++i) {
    locks.push_back(one.make_lock("held/" + std::to_string(i), long_lease()));
    locks.back().lock();
  }
  std::atomic<bool> ends{false};
  Worker passer;
  auto passing = passer.start([&, visitor = client()]() mutable {
    for (int i = 0; !ends.load(); ++i) {
      const char* const where = i % 3 == 0 ? "a" : i % 3 == 1 ? "held/5" : "z";
      Lock passes = visitor.make_lock(where + std::string("+") + std::to_string(i % 500));
      std::error_code ec;
      if (passes.try_lock(ec)) passes.unlock(ec);
    }
  });
  for (const std::size_t limit : {1'000U, 100U, 37U}) {
    std::map<std::string, int> seen;
    for (const std::string& name : names_of(asking, "", limit)) ++seen[name];
    for (const Lock& lock : locks) {
      EXPECT_GE(seen[lock.name()], 1) << lock.name() << " at a limit of " << limit;
      if (has(Quality::lists_once)) {
        EXPECT_LE(seen[lock.name()], 1) << lock.name();
      }
    }
  }
  ends.store(true);
  passing.get();
  const NameList only = names_of(asking, "held/99");
  EXPECT_EQ(distinct(only).size(), 11U);
  for (Lock& lock : locks) lock.unlock();
}

MORTISE_TEST(Administering, APageIsAsSmallAsIsWished, Quality::lists) {
  Client one = client();
  std::deque<Lock> locks;
  NameList names;
  for (int i = 0; i < 20; ++i) {
    names.push_back("n" + std::to_string(i));
    locks.push_back(one.make_lock(names.back(), long_lease()));
    locks.back().lock();
  }
  for (const std::size_t limit : {1U, 2U, 3U, 19U, 20U, 21U}) {
    EXPECT_EQ(distinct(names_of(one, "", limit)), sorted(names)) << limit;
  }
  for (Lock& lock : locks) lock.unlock();
}

MORTISE_TEST(Administering, WhatCannotBeAskedIsRefusedInWords) {
  Client one = client();
  const auto expect = [](const std::string& word, auto call) {
    try {
      call();
      ADD_FAILURE() << "nothing was refused: " << word;
    } catch (const Error& error) {
      EXPECT_EQ(error.errc(), Errc::misconfigured) << error.what();
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
    }
  };
  expect("limit is 0", [&] { static_cast<void>(one.list("", {.limit = 0})); });
  expect("limit is 1001", [&] { static_cast<void>(one.list("", {.limit = 1'001})); });
  expect("wait", [&] { static_cast<void>(one.list("", {.wait = 0ns})); });
  expect("513", [&] { static_cast<void>(one.list(std::string(513, 'x'))); });
  expect("limit is 0", [&] { static_cast<void>(one.queue("a", {.limit = 0})); });
  expect("name", [&] { static_cast<void>(one.queue("")); });
  expect("513", [&] { one.force_release(std::string(513, 'x')); });
  expect("wait", [&] { one.force_release("a", {.wait = -1s}); });
}

MORTISE_TEST(Administering, WhatTheStoreCannotDoItSays) {
  Client one = client();
  const auto expect = [&](bool can, auto call) {
    try {
      call();
      EXPECT_TRUE(can) << "it did what it cannot do";
    } catch (const Error& error) {
      EXPECT_FALSE(can) << error.what();
      EXPECT_EQ(error.errc(), Errc::unsupported) << error.what();
      EXPECT_GT(std::string(error.what()).size(), 20U) << "no reason: " << error.what();
    }
  };
  expect(has(Quality::holders), [&] { static_cast<void>(one.make_lock("a").holder()); });
  expect(has(Quality::lists), [&] { static_cast<void>(one.list("", {.wait = patience})); });
  expect(has(Quality::queues), [&] { static_cast<void>(one.queue("a", {.wait = patience})); });
  expect(has(Quality::forces), [&] { one.force_release("a", {.wait = patience}); });
}

MORTISE_TEST(Administering, ACursorOfNobodyHarmsNothing, Quality::lists) {
  Client one = client();
  Lock lock = one.make_lock("a", long_lease());
  lock.lock();
  using namespace std::string_literals;
  for (const std::string& cursor :
       {"x"s, "."s, ". 1"s, "0 5 abc"s, "0 1 a"s, "-1"s, "%"s, "\0"s, "99999999999999999999"s,
        "0 99999999999 a"s, std::string(100'000, '9'), "../../etc"s, "'"s}) {
    std::error_code ec;
    const NamePage page = one.list("", {.cursor = cursor, .wait = patience}, ec);
    if (ec) {
      EXPECT_TRUE(ec == Errc::misconfigured || ec == Errc::protocol) << ec.message();
    }
  }
  EXPECT_EQ(names_of(one, ""), NameList{"a"});
  lock.unlock();
}

MORTISE_TEST(Administering, AStoreThatIsCutOffIsReportedInTime, Hook::unreachable, Quality::lists) {
  Client one = client();
  static_cast<void>(one.list("", {.wait = patience}));
  store().set_reachable(false);
  const auto expect = [](std::chrono::milliseconds at_most, auto call) {
    std::error_code ec;
    EXPECT_LT(best_of(3, at_most, [&] { return own_duration_of([&] { call(ec); }); }), at_most);
    EXPECT_TRUE(ec == Errc::unavailable || ec == Errc::in_doubt) << ec.message();
  };
  expect(300ms + allowance,
         [&](auto& ec) { static_cast<void>(one.list("", {.wait = 300ms}, ec)); });
  expect(300ms + allowance,
         [&](auto& ec) { static_cast<void>(one.queue("a", {.wait = 300ms}, ec)); });
  expect(300ms + allowance, [&](auto& ec) { one.force_release("a", {.wait = 300ms}, ec); });
  store().set_reachable(true);
}

MORTISE_TEST(Administering, AClosedClientAsksNothing) {
  Client one = client();
  one.close();
  std::error_code ec;
  EXPECT_TRUE(one.list("", {}, ec).names.empty());
  EXPECT_EQ(ec, Errc::closed);
  EXPECT_TRUE(one.queue("a", {}, ec).holders.empty());
  EXPECT_EQ(ec, Errc::closed);
  EXPECT_TRUE(one.force_release("a", {}, ec).empty());
  EXPECT_EQ(ec, Errc::closed);
}

}  // namespace
}  // namespace mortise::contract
