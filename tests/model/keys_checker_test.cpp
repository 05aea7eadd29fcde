// SPDX-License-Identifier: MIT
// Goal: the checker of keys refuses each broken promise, by its name, and nothing else. Method:
// histories of a few events, written by hand.
#include "model/keys_checker.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace mortise::model {
namespace {

// Each event comes a second after the one before.
class Tale {
 public:
  struct Call {
    std::uint64_t op;
    std::uint64_t token;
    std::uint64_t number;
  };

  std::uint64_t asks(KeyManner manner = {}) {
    KeyEvent event = made(++ops_, KeyStep::asked, KeyWord::none);
    event.manner = manner;
    events_.push_back(event);
    return ops_;
  }
  Call begins(std::uint64_t op, std::uint64_t token, std::uint64_t number) {
    KeyEvent event = made(op, KeyStep::begun, KeyWord::none);
    event.token = token;
    event.number = number;
    events_.push_back(event);
    return {op, token, number};
  }
  Call runs(std::uint64_t token, std::uint64_t number) { return begins(asks(), token, number); }
  void says(const Call& run, KeyWord word, std::string_view bytes) {
    KeyEvent event = made(run.op, KeyStep::concluding, word);
    event.digest = digest_of(bytes);
    event.bytes = static_cast<std::uint32_t>(bytes.size());
    events_.push_back(event);
  }
  void knows(const Call& run, KeyWord word) {
    events_.push_back(made(run.op, KeyStep::concluded, word));
  }
  void succeeds(const Call& run, std::string_view bytes = "done") {
    says(run, KeyWord::succeeded, bytes);
    knows(run, KeyWord::recorded);
  }
  void fails(const Call& run) {
    says(run, KeyWord::failed, "refused");
    knows(run, KeyWord::recorded);
  }
  void hears(std::uint64_t op, KeyWord word, const Call& run, std::string_view bytes = "done") {
    KeyEvent event = made(op, KeyStep::told, word);
    event.token = run.token;
    event.number = run.number;
    event.digest = digest_of(bytes);
    event.bytes = static_cast<std::uint32_t>(bytes.size());
    events_.push_back(event);
  }
  void hears(std::uint64_t op, KeyWord word) { events_.push_back(made(op, KeyStep::told, word)); }
  // Where it happens from now on.
  void in_process(std::uint32_t process) { process_ = process; }
  // Somebody asks now, and is told.
  void is_told(KeyWord word, const Call& run, std::string_view bytes = "done") {
    hears(asks(), word, run, bytes);
  }

  [[nodiscard]] KeyReport checked(Repeat repeat = Repeat::after_failure) const {
    return check_keys(events_, [repeat](std::uint32_t) { return repeat; });
  }

 private:
  KeyEvent made(std::uint64_t op, KeyStep step, KeyWord word) {
    KeyEvent event;
    event.time = now_ += 1'000'000'000;
    event.op = op;
    event.step = step;
    event.word = word;
    event.process = process_;
    return event;
  }

  std::vector<KeyEvent> events_;
  std::int64_t now_ = 0;
  std::uint64_t ops_ = 0;
  std::uint32_t process_ = 0;
};

void expect_only(KeyFault fault, const KeyReport& report) {
  EXPECT_TRUE(report.has(fault)) << report.text();
  for (const KeyViolation& violation : report.violations) {
    EXPECT_EQ(violation.fault, fault) << violation.sentence;
  }
}

TEST(KeysChecker, TakesAGoodHistory) {
  Tale tale;
  const Tale::Call first = tale.runs(1024, 1);
  const std::uint64_t waiter = tale.asks({.waits = true});
  tale.fails(first);
  const Tale::Call second = tale.begins(waiter, 2048, 2);
  const std::uint64_t beside = tale.asks();
  tale.hears(beside, KeyWord::pending, second);
  tale.succeeds(second);
  tale.is_told(KeyWord::succeeded, second);
  tale.hears(tale.asks({.other_request = true}), KeyWord::mismatch);
  const KeyReport report = tale.checked();
  EXPECT_TRUE(report.ok()) << report.text();
  EXPECT_EQ(report.runs, 2U);
  EXPECT_EQ(report.successes, 1U);
  EXPECT_EQ(report.failures, 1U);
  EXPECT_EQ(report.refused, 1U);
}

TEST(KeysChecker, TakesWhatWasNeverAnswered) {
  Tale tale;
  const Tale::Call dead = tale.runs(1024, 1);
  tale.says(dead, KeyWord::succeeded, "perhaps");
  const Tale::Call next = tale.runs(2048, 3);
  tale.says(next, KeyWord::succeeded, "done");
  tale.knows(next, KeyWord::unknown);
  EXPECT_TRUE(tale.checked().ok()) << tale.checked().text();
  tale.is_told(KeyWord::succeeded, next);
  EXPECT_TRUE(tale.checked().ok()) << tale.checked().text();
  EXPECT_EQ(tale.checked().successes, 1U);
}

TEST(KeysChecker, RefusesASecondSuccess) {
  Tale tale;
  const std::uint64_t late = tale.asks();
  tale.succeeds(tale.runs(1024, 1));
  tale.succeeds(tale.begins(late, 2048, 2), "again");
  expect_only(KeyFault::second_outcome, tale.checked());
  EXPECT_TRUE(tale.checked(Repeat::always).ok());
}

TEST(KeysChecker, RefusesARunAfterASuccessThatOnlyAnotherCallerKnowsOf) {
  Tale tale;
  const Tale::Call dead = tale.runs(1024, 1);
  tale.says(dead, KeyWord::succeeded, "done");
  tale.is_told(KeyWord::succeeded, dead);
  tale.runs(2048, 2);
  expect_only(KeyFault::second_outcome, tale.checked());
}

TEST(KeysChecker, RefusesARunAfterAFailureThatIsNotRepeated) {
  Tale tale;
  tale.fails(tale.runs(1024, 1));
  tale.runs(2048, 2);
  EXPECT_TRUE(tale.checked().ok());
  expect_only(KeyFault::second_outcome, tale.checked(Repeat::never));
}

TEST(KeysChecker, RefusesOtherBytes) {
  Tale tale;
  const Tale::Call run = tale.runs(1024, 1);
  tale.succeeds(run);
  tale.is_told(KeyWord::succeeded, run, "dome");
  expect_only(KeyFault::never_said, tale.checked());
}

TEST(KeysChecker, RefusesTheNumberOfAnotherRun) {
  Tale tale;
  const Tale::Call run = tale.runs(1024, 1);
  tale.succeeds(run);
  tale.is_told(KeyWord::succeeded, {run.op, run.token, 2});
  expect_only(KeyFault::never_said, tale.checked());
}

TEST(KeysChecker, RefusesWhatNobodySaid) {
  Tale tale;
  const Tale::Call run = tale.runs(1024, 1);
  tale.is_told(KeyWord::succeeded, run);
  expect_only(KeyFault::never_said, tale.checked());
  Tale of_nobody;
  of_nobody.is_told(KeyWord::failed, {1, 1024, 1}, "refused");
  expect_only(KeyFault::never_said, of_nobody.checked());
}

TEST(KeysChecker, RefusesTheOutcomeOfARunnerThatWasToldThatItLost) {
  Tale tale;
  const Tale::Call run = tale.runs(1024, 1);
  tale.says(run, KeyWord::succeeded, "done");
  tale.knows(run, KeyWord::lost);
  EXPECT_TRUE(tale.checked().ok());
  tale.is_told(KeyWord::succeeded, run);
  expect_only(KeyFault::recorded_by_loser, tale.checked());
}

TEST(KeysChecker, RefusesAnOutcomeThatWasSaidWhenTheNextRunHadBegun) {
  Tale tale;
  const Tale::Call slow = tale.runs(1024, 1);
  tale.runs(2048, 2);
  tale.fails(slow);
  expect_only(KeyFault::recorded_by_loser, tale.checked());
}

TEST(KeysChecker, RefusesPendingAfterASuccess) {
  Tale tale;
  const std::uint64_t early = tale.asks();
  const std::uint64_t waiter = tale.asks({.waits = true});
  const Tale::Call run = tale.runs(1024, 1);
  tale.succeeds(run);
  tale.hears(early, KeyWord::pending, run);
  tale.hears(waiter, KeyWord::pending, run);
  EXPECT_TRUE(tale.checked().ok()) << tale.checked().text();
  tale.is_told(KeyWord::pending, run);
  expect_only(KeyFault::forgotten, tale.checked());
}

// By its own process, whose run was taken away and does not know of it.
TEST(KeysChecker, TakesPendingWhereItsProcessRunsTheKey) {
  for (const bool elsewhere : {false, true}) {
    Tale tale;
    const Tale::Call robbed = tale.runs(1024, 1);
    tale.in_process(1);
    tale.succeeds(tale.runs(2048, 2));
    tale.in_process(elsewhere ? 2 : 0);
    tale.hears(tale.asks(), KeyWord::pending);
    tale.in_process(0);
    tale.says(robbed, KeyWord::succeeded, "too late");
    tale.knows(robbed, KeyWord::lost);
    if (elsewhere) {
      expect_only(KeyFault::forgotten, tale.checked());
    } else {
      EXPECT_TRUE(tale.checked().ok()) << tale.checked().text();
      tale.hears(tale.asks(), KeyWord::pending);
      expect_only(KeyFault::forgotten, tale.checked());
    }
  }
}

TEST(KeysChecker, RefusesAbsentAfterABegin) {
  Tale tale;
  const std::uint64_t early = tale.asks({.looks = true});
  tale.runs(1024, 1);
  tale.hears(early, KeyWord::absent);
  EXPECT_TRUE(tale.checked().ok());
  tale.hears(tale.asks({.looks = true}), KeyWord::absent);
  expect_only(KeyFault::forgotten, tale.checked());
}

TEST(KeysChecker, RefusesAnOlderOutcomeThanWasKnown) {
  Tale tale;
  const Tale::Call first = tale.runs(1024, 1);
  tale.succeeds(first, "one");
  const Tale::Call second = tale.runs(2048, 2);
  const std::uint64_t early = tale.asks({.looks = true});
  tale.succeeds(second, "two");
  tale.hears(early, KeyWord::succeeded, first, "one");
  EXPECT_TRUE(tale.checked(Repeat::always).ok());
  tale.hears(tale.asks({.looks = true}), KeyWord::succeeded, first, "one");
  expect_only(KeyFault::forgotten, tale.checked(Repeat::always));
}

TEST(KeysChecker, RefusesNumbersThatDoNotGrow) {
  Tale tale;
  tale.runs(1024, 1);
  tale.runs(2048, 1);
  expect_only(KeyFault::number_backwards, tale.checked());
}

TEST(KeysChecker, RefusesAnswersToTheWrongRequest) {
  Tale refused;
  refused.hears(refused.asks(), KeyWord::mismatch);
  expect_only(KeyFault::wrong_request, refused.checked());
  Tale answered;
  const Tale::Call run = answered.runs(1024, 1);
  answered.succeeds(run);
  answered.hears(answered.asks({.other_request = true}), KeyWord::succeeded, run);
  expect_only(KeyFault::wrong_request, answered.checked());
  Tale ran;
  ran.fails(ran.runs(1024, 1));
  ran.begins(ran.asks({.other_request = true}), 2048, 2);
  expect_only(KeyFault::wrong_request, ran.checked());
}

TEST(KeysChecker, RefusesWhatIsNoHistory) {
  Tale tale;
  tale.knows({7, 1024, 1}, KeyWord::recorded);
  expect_only(KeyFault::malformed, tale.checked());
  Tale twins;
  twins.runs(1024, 1);
  twins.runs(1024, 1);
  expect_only(KeyFault::malformed, twins.checked());
}

TEST(KeysChecker, RefusesABookThatWasFull) {
  KeyBook book(KeyBook::window, 2);
  for (int left = 2; left > 0; --left) static_cast<void>(book.ask({}, {}, left));
  EXPECT_THROW(static_cast<void>(book.ask({}, {}, 9)), HistoryFull);
  expect_only(KeyFault::malformed, check_keys(book, [](std::uint32_t) { return Repeat::never; }));
}

}  // namespace
}  // namespace mortise::model
