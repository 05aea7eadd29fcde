// SPDX-License-Identifier: MIT
// Goal: an administrator sees semaphores and keys as well as locks, and can end a permit or a run.
// Method: one name as the name of each, held in every mode, so that no answer may be about another.
#include "support/contract_suites.hpp"
#include "support/hostile_names.hpp"

#include <algorithm>
#include <deque>
#include <string>
#include <variant>
#include <vector>

namespace mortise::contract {
namespace {

using Names = std::vector<std::string>;

/// One hold of a name: of a lock, of a semaphore's only permit, or of a key that is run.
class AnyHold {
 public:
  AnyHold(Client& client, Mode mode, const std::string& name, const std::string& label,
          std::chrono::nanoseconds wait = 0s) {
    const LockOptions options{.lease = 60s, .label = label};
    if (mode == Mode::permit) {
      hold_ = client.make_semaphore(name, 1, options).acquire({.wait = wait});
    } else if (mode == Mode::once) {
      hold_ = client.make_once(name, {.wait = wait, .lease = 60s, .label = label}).begin();
    } else {
      hold_.emplace<Guard>(client.make_lock(name, options), AcquireOptions{.wait = wait});
    }
  }
  explicit operator bool() const {
    return std::visit([](const auto& hold) { return bool(hold); }, hold_);
  }
  [[nodiscard]] Token token() const {
    return std::visit([](const auto& hold) { return hold.token(); }, hold_);
  }
  [[nodiscard]] const std::stop_token& lost() const {
    return std::visit([](const auto& hold) -> const std::stop_token& { return hold.lost(); },
                      hold_);
  }
  /// @return the number of a run.
  [[nodiscard]] std::uint64_t number() const { return std::get<mortise::Run>(hold_).number(); }
  /// @return whether it stood until now.
  bool end() {
    if (auto* const run = std::get_if<mortise::Run>(&hold_)) {
      return run->succeed("done").state() == KeyState::succeeded;
    }
    if (auto* const permit = std::get_if<Permit>(&hold_)) {
      return permit->unlock() == Released::released;
    }
    return std::get<Guard>(hold_).unlock() == Released::released;
  }

 private:
  std::variant<Guard, Permit, mortise::Run> hold_;
};

class AdministeringModes : public Administering {
 protected:
  /// Those that the store has. Readers have the names of locks.
  [[nodiscard]] std::vector<Mode> modes() const {
    std::vector<Mode> modes{Mode::exclusive};
    if (has(Quality::permits)) modes.push_back(Mode::permit);
    if (has(Quality::once)) modes.push_back(Mode::once);
    return modes;
  }
  static Names names_of(Client& asking, Mode mode, const std::string& prefix = "",
                        std::size_t limit = 100) {
    Names names;
    ListOptions options{.limit = limit, .wait = patience, .mode = mode};
    do {
      NamePage page = asking.list(prefix, options);
      EXPECT_LE(page.names.size(), limit);
      names.insert(names.end(), page.names.begin(), page.names.end());
      options.cursor = page.cursor;
    } while (!options.cursor.empty());
    std::sort(names.begin(), names.end());
    // Where a store may tell one twice.
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
  }
  static NameQueue queue_of(Client& asking, Mode mode, std::size_t limit = 100) {
    return asking.queue("name", {.limit = limit, .wait = patience, .mode = mode});
  }
};

MORTISE_TEST(AdministeringModes, EachModeHasAListOfItsOwn, Quality::lists) {
  Client one = client();
  Client asking = client();
  for (const Mode held : modes()) {
    AnyHold hold(one, held, "name", "holder");
    ASSERT_TRUE(hold);
    for (const Mode mode : modes()) {
      EXPECT_EQ(names_of(asking, mode), mode == held ? Names{"name"} : Names{})
          << static_cast<int>(held) << " in a list of " << static_cast<int>(mode);
    }
    EXPECT_EQ(names_of(asking, Mode::shared), names_of(asking, Mode::exclusive));
    EXPECT_EQ(names_of(one, held, "nam"), Names{"name"});
    EXPECT_EQ(names_of(one, held, "b"), Names{});
    EXPECT_TRUE(hold.end());
    EXPECT_EQ(names_of(asking, held), Names{}) << "what is remembered of a key is not listed";
  }
}

MORTISE_TEST(AdministeringModes, NamesOfAnyBytesAreListedInEachMode, Quality::lists) {
  Client one = client();
  for (const Mode mode : modes()) {
    std::deque<AnyHold> holds;
    Names names;
    for (const std::string& name : test::hostile_names()) {
      if (has(Quality::lists_long_names) || name.size() <= 30) names.push_back(name);
      holds.emplace_back(one, mode, name, "holder");
      ASSERT_TRUE(holds.back()) << ::testing::PrintToString(name);
    }
    std::sort(names.begin(), names.end());
    for (const std::size_t limit : {1'000U, 7U}) {
      EXPECT_EQ(names_of(one, mode, "", limit), names) << static_cast<int>(mode);
    }
    for (const std::string prefix : {"a", "%", "{"}) {
      Names expected;
      for (const std::string& name : names) {
        if (name.starts_with(prefix)) expected.push_back(name);
      }
      EXPECT_EQ(names_of(one, mode, prefix), expected) << prefix << static_cast<int>(mode);
    }
    for (AnyHold& hold : holds) EXPECT_TRUE(hold.end());
    EXPECT_EQ(names_of(one, mode), Names{});
  }
}

MORTISE_TEST(AdministeringModes, EachModeHasAQueueOfItsOwn, Quality::queues) {
  Client one = client();
  Client asking = client();
  for (const Mode held : modes()) {
    EXPECT_TRUE(queue_of(asking, held).holders.empty());
    AnyHold hold(one, held, "name", "holder");
    ASSERT_TRUE(hold);
    for (const Mode mode : modes()) {
      const NameQueue queue = queue_of(asking, mode);
      EXPECT_TRUE(queue.waiters.empty());
      EXPECT_EQ(queue.waiters_in_all.value_or(0), 0U);
      ASSERT_EQ(queue.holders.size(), mode == held ? 1U : 0U)
          << static_cast<int>(held) << " in a queue of " << static_cast<int>(mode);
      if (mode != held) continue;
      const HolderEntry& holder = queue.holders.front();
      EXPECT_EQ(holder.mode, held);
      EXPECT_EQ(holder.label, "holder");
      EXPECT_EQ(holder.token, hold.token());
      if (holder.age) {
        EXPECT_LT(*holder.age, patience);
      }
      if (holder.expires_in) {
        EXPECT_GT(*holder.expires_in, 0ms);
        EXPECT_LE(*holder.expires_in, 60s);
      }
    }
    EXPECT_TRUE(hold.end());
    EXPECT_TRUE(queue_of(asking, held).holders.empty()) << static_cast<int>(held);
  }
}

MORTISE_TEST(AdministeringModes, AQueueTellsWhoWaitsInEachMode, Quality::waiters) {
  Client one = client();
  Client asking = client();
  for (const Mode mode : modes()) {
    AnyHold hold(one, mode, "name", "holder");
    ASSERT_TRUE(hold);
    std::deque<Client> clients;
    std::deque<Worker> workers;
    std::vector<std::future<void>> served;
    for (std::size_t i = 0; i < 3; ++i) {
      Client& waiting = clients.emplace_back(client());
      const std::string label = "waiter " + std::to_string(i);
      served.push_back(workers.emplace_back().start([&waiting, mode, label] {
        AnyHold next(waiting, mode, "name", label, patience);
        if (next) next.end();  // a key is run once: the others get the result
      }));
      ASSERT_TRUE(eventually([&] { return queue_of(asking, mode).waiters.size() == i + 1; }))
          << i << " in mode " << static_cast<int>(mode);
    }
    const NameQueue queue = queue_of(asking, mode);
    ASSERT_EQ(queue.holders.size(), 1U);
    EXPECT_EQ(queue.holders.front().token, hold.token());
    EXPECT_EQ(queue.waiters_in_all, 3U);
    ASSERT_EQ(queue.waiters.size(), 3U);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(queue.waiters[i].mode, mode);
      if (has(Quality::waiter_labels)) {
        EXPECT_EQ(queue.waiters[i].label, "waiter " + std::to_string(i));
      }
      if (queue.waiters[i].silent_for) {
        EXPECT_LT(*queue.waiters[i].silent_for, patience);
      }
    }
    const NameQueue first = queue_of(asking, mode, 2);
    EXPECT_EQ(first.waiters.size(), 2U);
    EXPECT_EQ(first.waiters_in_all, 3U) << "those that are left out are counted";
    EXPECT_TRUE(hold.end());
    for (auto& each : served) each.get();
    EXPECT_TRUE(eventually([&] {
      const NameQueue after = queue_of(asking, mode);
      return after.holders.empty() && after.waiters.empty() && after.waiters_in_all == 0U;
    }));
  }
}

MORTISE_TEST(AdministeringModes, AHoldOfEachModeIsEndedByItsToken, Quality::forces) {
  Client one = client();
  Client other = client();
  for (const Mode mode : modes()) {
    std::deque<AnyHold> others;
    for (const Mode each : modes()) {
      if (each != mode) others.emplace_back(one, each, "name", "bystander");
    }
    AnyHold hold(one, mode, "name", "robbed");
    ASSERT_TRUE(hold);
    const auto force = [&](Token of) {
      return other.force_release("name", {.of = of, .wait = patience, .mode = mode});
    };
    EXPECT_TRUE(force(Token(hold.token().value() + 1024)).empty()) << "no hold has it";
    for (const AnyHold& each : others) {
      if (each.token() == hold.token()) continue;
      EXPECT_TRUE(force(each.token()).empty()) << "it is the name of something else";
    }
    const std::vector<Holder> ended = force(hold.token());
    ASSERT_EQ(ended.size(), 1U) << static_cast<int>(mode);
    EXPECT_EQ(ended.front().label, "robbed");
    EXPECT_EQ(ended.front().token, hold.token());
    EXPECT_EQ(ended.front().mode, mode);
    AnyHold next(other, mode, "name", "next", patience);
    ASSERT_TRUE(next);
    EXPECT_GT(next.token(), hold.token());
    EXPECT_TRUE(force(hold.token()).empty()) << "the next one keeps it";
    EXPECT_FALSE(hold.end()) << static_cast<int>(mode);
    EXPECT_TRUE(next.end());
    for (AnyHold& each : others) EXPECT_TRUE(each.end());
    if (has(Quality::once)) {
      EXPECT_TRUE(one.make_once("name").forget());
    }
  }
}

MORTISE_TEST(AdministeringModes, ARunnerIsToldThatItsRunWasEnded, Quality::forces, Quality::once) {
  Client one = client();
  Client other = client();
  Once key = one.make_once("name", {.lease = 3 * short_lease(), .label = "robbed"});
  mortise::Run run = key.begin();
  ASSERT_TRUE(run);
  const std::stop_token lost = run.lost();
  EXPECT_TRUE(other.force_release("name", {.wait = patience}).empty()) << "no lock is held";
  const auto ended = other.force_release("name", {.wait = patience, .mode = Mode::once});
  ASSERT_EQ(ended.size(), 1U) << "without a token: whoever runs it";
  EXPECT_EQ(ended.front().token, run.token());
  // As if its runner had died.
  const Outcome left = other.make_once("name").look();
  EXPECT_EQ(left.state(), KeyState::pending);
  EXPECT_TRUE(other.force_release("name", {.wait = patience, .mode = Mode::once}).empty());
  EXPECT_TRUE(eventually([&] { return lost.stop_requested(); }));
  EXPECT_TRUE(run.succeed("too late").lost());
  mortise::Run next = other.make_once("name").begin();
  ASSERT_TRUE(next);
  EXPECT_EQ(next.number(), 2U) << "the first one may have had its effect";
  EXPECT_GT(next.token(), run.token());
  next.succeed("second");
  EXPECT_EQ(one.make_once("name").look().result(), "second");
  EXPECT_TRUE(other.force_release("name", {.wait = patience, .mode = Mode::once}).empty());
  EXPECT_EQ(one.make_once("name").look().result(), "second") << "what is remembered stays";
}

MORTISE_TEST(AdministeringModes, AWaiterRunsTheKeyWhoseRunWasEnded, Quality::forces,
             Quality::once) {
  Client one = client();
  Client other = client();
  Client waiting = client();
  AnyHold hold(one, Mode::once, "name", "robbed");
  ASSERT_TRUE(hold);
  Worker worker;
  auto served = worker.start([&] {
    AnyHold next(waiting, Mode::once, "name", "next", patience);
    const std::uint64_t number = next ? next.number() : 0;
    return number != 0 && next.end() ? number : 0;
  });
  ASSERT_TRUE(worker.falls_asleep());
  ASSERT_EQ(other.force_release("name", {.wait = patience, .mode = Mode::once}).size(), 1U);
  EXPECT_EQ(served.get(), 2U);
  EXPECT_FALSE(hold.end());
}

MORTISE_TEST(AdministeringModes, AModeThatTheStoreLacksIsRefusedWithTheReason) {
  Client one = client();
  const auto expect = [](Mode mode, auto call) {
    try {
      call();
      ADD_FAILURE() << "it did what it cannot do: " << static_cast<int>(mode);
    } catch (const Error& error) {
      EXPECT_EQ(error.errc(), Errc::unsupported) << error.what();
      EXPECT_GT(std::string(error.what()).size(), 20U) << "no reason: " << error.what();
    }
  };
  for (const Mode mode : {Mode::permit, Mode::once}) {
    if (has(mode == Mode::permit ? Quality::permits : Quality::once)) continue;
    expect(mode, [&] { static_cast<void>(one.list("", {.mode = mode})); });
    expect(mode, [&] { static_cast<void>(one.queue("a", {.mode = mode})); });
    expect(mode, [&] { one.force_release("a", {.of = Token(1'024), .mode = mode}); });
  }
}

MORTISE_TEST(AdministeringModes, APermitIsEndedByItsTokenOnly, Quality::permits) {
  Client one = client();
  try {
    one.force_release("a", {.mode = Mode::permit});
    ADD_FAILURE() << "which permit?";
  } catch (const Error& error) {
    EXPECT_EQ(error.errc(), Errc::misconfigured);
    EXPECT_NE(std::string(error.what()).find("token"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace mortise::contract
