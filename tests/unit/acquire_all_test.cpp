// SPDX-License-Identifier: MIT
// Goal: whoever wants several names does the right thing at each step, holds none of them at first
// while it waits, and comes to an end against whoever wants the same. Method: the machine without a
// thread, step by step; then many of them around one table of names, in every order that a seed
// makes, and in lock-step.
#include "core/acquire_all.hpp"

#include "core/figures.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <optional>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace mortise::core {
namespace {

using AllDo = AcquireAll::Do;
using AllEnd = AcquireAll::End;
using AllFate = AcquireAll::Fate;

void expect_action(const AcquireAll::Action& action, AllDo what, std::size_t name) {
  EXPECT_EQ(action.what, what);
  EXPECT_EQ(action.name, name);
}
void expect_end(AcquireAll& all, const AcquireAll::Action& action, AllEnd end, std::size_t name) {
  expect_action(action, AllDo::give_back, 0);
  const AcquireAll::Action last = all.given_back();
  expect_action(last, AllDo::end, name);
  EXPECT_EQ(last.end, end);
}

TEST(AcquireAllTest, AsksForAllAtOnceAndHasThem) {
  AcquireAll all(true);
  EXPECT_EQ(AcquireAll::start().what, AllDo::fly);
  const AcquireAll::Action last = all.step(AcquireAll::Flown{});
  EXPECT_EQ(last.what, AllDo::end);
  EXPECT_EQ(last.end, AllEnd::held);
}

TEST(AcquireAllTest, GivesAllBackWhereItMayNotWait) {
  AcquireAll all(false);
  expect_end(all, all.step(AcquireAll::Flown{.worst = AllFate::busy, .name = 2}), AllEnd::contended,
             2);
  AcquireAll other(false);
  expect_end(other, other.step(AcquireAll::Flown{.worst = AllFate::unanswered, .name = 1}),
             AllEnd::failed, 1);
}

TEST(AcquireAllTest, GivesAllBackWhereOneFailsForGood) {
  AcquireAll all(true);
  expect_end(all, all.step(AcquireAll::Flown{.worst = AllFate::failed, .name = 1}), AllEnd::failed,
             1);
  AcquireAll waits(true);
  waits.step(AcquireAll::Flown{.worst = AllFate::busy, .name = 1});
  expect_end(waits, waits.step(AcquireAll::Waited{.fate = AllFate::failed}), AllEnd::failed, 1);
}

TEST(AcquireAllTest, WaitsWithNothingAtFirstAndThenWithWhatComesBefore) {
  AcquireAll all(true);
  for (int round = 0; round < rounds_with_nothing_held; ++round) {
    expect_action(all.step(AcquireAll::Flown{.worst = AllFate::busy, .name = 3}), AllDo::give_back,
                  0);
    expect_action(all.given_back(), AllDo::wait, 3);
    EXPECT_EQ(all.step(AcquireAll::Waited{}).what, AllDo::fly);
  }
  expect_action(all.step(AcquireAll::Flown{.worst = AllFate::busy, .name = 3}), AllDo::give_back,
                3);
  expect_action(all.given_back(), AllDo::wait, 3);
  EXPECT_EQ(all.step(AcquireAll::Waited{}).what, AllDo::fly);
  expect_action(all.step(AcquireAll::Flown{.worst = AllFate::busy, .name = 5}), AllDo::give_back,
                5);
  expect_action(all.given_back(), AllDo::wait, 5);
  const AcquireAll::Action last = all.step(AcquireAll::Waited{.all_held = true});
  EXPECT_EQ(last.what, AllDo::end);
  EXPECT_EQ(last.end, AllEnd::held);
}

TEST(AcquireAllTest, WaitsForAStoreThatDoesNotAnswerWithNothing) {
  AcquireAll all(true);
  for (int round = 0; round < 3 * rounds_with_nothing_held; ++round) {
    expect_action(all.step(AcquireAll::Flown{.worst = AllFate::unanswered, .name = 3}),
                  AllDo::give_back, 0);
    expect_action(all.given_back(), AllDo::wait, 3);
    EXPECT_EQ(all.step(AcquireAll::Waited{}).what, AllDo::fly);
  }
}

TEST(AcquireAllTest, SaysWhyItsTimeIsUp) {
  AcquireAll busy(true);
  expect_end(busy,
             busy.step(AcquireAll::Flown{.worst = AllFate::busy, .name = 1, .time_is_up = true}),
             AllEnd::contended, 1);
  AcquireAll silent(true);
  expect_end(silent,
             silent.step(AcquireAll::Flown{
                 .worst = AllFate::unanswered, .name = 1, .time_is_up = true, .cut_short = true}),
             AllEnd::failed, 1);
  AcquireAll waits(true);
  waits.step(AcquireAll::Flown{.worst = AllFate::busy, .name = 1});
  expect_end(waits, waits.step(AcquireAll::Waited{.fate = AllFate::busy, .time_is_up = true}),
             AllEnd::contended, 1);
  AcquireAll late(true);
  late.step(AcquireAll::Flown{.worst = AllFate::busy, .name = 1});
  expect_end(late, late.step(AcquireAll::Waited{.time_is_up = true}), AllEnd::contended, 1);
}

TEST(AcquireAllTest, BlamesNoStoreForTheTimeThatAHolderTook) {
  AcquireAll all(true);
  all.step(AcquireAll::Flown{.worst = AllFate::busy, .name = 1});
  all.step(AcquireAll::Waited{});
  expect_end(all,
             all.step(AcquireAll::Flown{
                 .worst = AllFate::unanswered, .name = 0, .time_is_up = true, .cut_short = true}),
             AllEnd::contended, 1);
  AcquireAll other(true);
  other.step(AcquireAll::Flown{.worst = AllFate::busy, .name = 1});
  other.step(AcquireAll::Waited{});
  expect_end(
      other,
      other.step(AcquireAll::Flown{.worst = AllFate::unanswered, .name = 0, .time_is_up = true}),
      AllEnd::failed, 0);
}

/// Who holds the names, and who waits for each, in order.
struct Table {
  explicit Table(std::size_t names) : holders(names, nobody), queues(names) {}
  static constexpr int nobody = -1;
  std::vector<int> holders;
  std::vector<std::deque<int>> queues;

  bool take(std::size_t name, int who) {
    if (holders[name] == who) return true;
    if (holders[name] != nobody) return false;
    holders[name] = who;
    return true;
  }
  void free(std::size_t name) {
    holders[name] = nobody;
    if (queues[name].empty()) return;
    holders[name] = queues[name].front();
    queues[name].pop_front();
  }
};

/// One that wants some of the names, again and again, and does one thing at a time.
class Party {
 public:
  Party(Table& table, int number, std::vector<std::size_t> wanted)
      : table_(table), number_(number), wanted_(std::move(wanted)), held_(wanted_.size()) {}

  [[nodiscard]] int served() const { return served_; }
  [[nodiscard]] bool waits() const {
    return queued_ && table_.holders[wanted_[action_.name]] != number_;
  }
  void step() {
    switch (action_.what) {
      case AllDo::fly: return fly();
      case AllDo::give_back:
        for (std::size_t i = action_.name; i < wanted_.size(); ++i) free(i);
        action_ = machine_->given_back();
        return;
      case AllDo::wait: return wait();
      case AllDo::end: break;
    }
    ++served_;
    for (std::size_t i = 0; i < wanted_.size(); ++i) free(i);
    machine_.emplace(true);
    action_ = AcquireAll::start();
    next_ = 0;
  }

 private:
  // A flight takes one name a step: others come in between.
  void fly() {
    if (next_ < wanted_.size()) {
      held_[next_] = table_.take(wanted_[next_], number_);
      ++next_;
      return;
    }
    next_ = 0;
    const auto free = std::find(held_.begin(), held_.end(), false);
    AcquireAll::Flown event;
    if (free != held_.end()) {
      event = {.worst = AllFate::busy, .name = static_cast<std::size_t>(free - held_.begin())};
    }
    action_ = machine_->step(event);
  }
  void wait() {
    const std::size_t name = wanted_[action_.name];
    if (!queued_ && !table_.take(name, number_)) table_.queues[name].push_back(number_);
    queued_ = true;
    if (waits()) return;
    queued_ = false;
    held_[action_.name] = true;
    const bool all = std::find(held_.begin(), held_.end(), false) == held_.end();
    action_ = machine_->step(AcquireAll::Waited{.all_held = all});
  }
  void free(std::size_t i) {
    if (held_[i]) table_.free(wanted_[i]);
    held_[i] = false;
  }

  Table& table_;
  const int number_;
  const std::vector<std::size_t> wanted_;  // ascending
  std::vector<bool> held_;
  std::optional<AcquireAll> machine_{true};
  AcquireAll::Action action_ = AcquireAll::start();
  std::size_t next_ = 0;
  bool queued_ = false;
  int served_ = 0;
};

TEST(AcquireAllTest, InLockStepEverybodyIsServedInTheEnd) {
  for (std::size_t many = 2; many <= 6; ++many) {
    Table table(3);
    std::vector<Party> parties;
    for (std::size_t i = 0; i < many; ++i) {
      const std::size_t left_out = i % 3;
      parties.emplace_back(
          table, static_cast<int>(i),
          i % 4 == 3 ? std::vector<std::size_t>{0, 1, 2}
                     : std::vector<std::size_t>{left_out == 0 ? 1U : 0U, left_out == 2 ? 1U : 2U});
    }
    for (int step = 0; step < 2'000; ++step) {
      for (Party& party : parties) party.step();
    }
    for (const Party& party : parties) EXPECT_GT(party.served(), 5) << many << " parties";
  }
}

TEST(AcquireAllTest, InAnyOrderEverybodyIsServedInTheEnd) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    std::minstd_rand random(seed + 1);
    const std::size_t names = 2 + random() % 4;
    Table table(names);
    std::vector<Party> parties;
    for (int i = 0; i < 5; ++i) {
      std::set<std::size_t> wanted;
      while (wanted.size() < 2) wanted.insert(random() % names);
      if (random() % 2 == 0) wanted.insert(random() % names);
      parties.emplace_back(table, i, std::vector<std::size_t>(wanted.begin(), wanted.end()));
    }
    for (int step = 0; step < 5'000; ++step) parties[random() % parties.size()].step();
    const bool stuck = std::all_of(parties.begin(), parties.end(),
                                   [](const Party& party) { return party.waits(); });
    EXPECT_FALSE(stuck) << "seed " << seed;
    for (const Party& party : parties) EXPECT_GT(party.served(), 0) << "seed " << seed;
  }
}

}  // namespace
}  // namespace mortise::core
