// SPDX-License-Identifier: MIT
// Goal: what a run has concluded in a transaction of its own is its outcome if that was committed,
// and no success stands if it was not, whatever is said afterwards: everybody is told of what is
// recorded, and of nothing else. Method: bodies that do with such a transaction what bodies do.
#include "fault/postgres_transactions.hpp"
#include "support/own_time.hpp"

#include <future>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

namespace mortise::fault {
namespace {

class PostgresConfirmation : public PostgresTransactions {
 protected:
  void SetUp() override {
    PostgresTransactions::SetUp();
    if (!IsSkipped()) user_.emplace(server().user());
  }
  /// The effect and its outcome, in a transaction that is open afterwards.
  void charge(mortise::Run& run, const std::string& receipt = "receipt") {
    user_->run("update orders set charged = charged + 1");
    postgres::conclude(user_->handle(), run, receipt);
  }
  [[nodiscard]] mortise::Outcome look() {
    Client other = client();
    return other.make_once("a").look();
  }
  void lapse() { server().talk().run("update mortise.run set expires_at = clock_timestamp()"); }
  /// @return once the client has seen that its lease is over.
  static void await_loss(const mortise::Run& run) {
    ASSERT_TRUE(eventually([&] { return run.lost().stop_requested(); }));
  }

  std::optional<PostgresTalk> user_;
};

/// What became of it, where nothing of it was committed.
MATCHER(IsLostAndPending, "") {
  return arg.lost() && arg.state() == KeyState::pending && arg.result().empty();
}

// Promise: O2
TEST_P(PostgresConfirmation, RecordsNothingWhereTheTransactionHadFailed) {
  Client mine = client();
  const mortise::Outcome outcome = mine.make_once("a").run([&](mortise::Run& run) {
    user_->run(begin());
    charge(run);
    EXPECT_THROW(user_->run("select 1/0"), PostgresTalkError);
    user_->run("commit");  // rolls back, and says so to nobody who does not look
    return std::string("receipt");
  });
  EXPECT_THAT(outcome, IsLostAndPending());
  EXPECT_EQ(charged(), "0");
  EXPECT_EQ(look().state(), KeyState::pending);
  EXPECT_FALSE(look().running()) << "the next one runs at once";
  EXPECT_EQ(mine.make_once("a").begin().number(), 2U);
}

// Promise: O2
TEST_P(PostgresConfirmation, RecordsNothingThatASavepointHasUndone) {
  Client mine = client();
  const mortise::Outcome outcome = mine.make_once("a").run([&](mortise::Run& run) {
    user_->run(begin());
    user_->run("savepoint s");
    charge(run);
    user_->run("rollback to s");
    user_->run("commit");
    return std::string("receipt");
  });
  EXPECT_THAT(outcome, IsLostAndPending());
  EXPECT_EQ(charged(), "0");
  EXPECT_EQ(look().state(), KeyState::pending);
}

// By succeed() too, and a failure can still be said.
TEST_P(PostgresConfirmation, LeavesAFailureToBeSaidOfWhatWasRolledBack) {
  Client mine = client();
  for (const bool fails : {false, true}) {
    mortise::Run run = mine.make_once("a").begin();
    ASSERT_TRUE(run);
    user_->run(begin());
    charge(run);
    user_->run("rollback");
    if (fails) {
      EXPECT_EQ(run.fail("no").reason(), "no");
    } else {
      EXPECT_THAT(run.succeed("receipt"), IsLostAndPending());
    }
    EXPECT_FALSE(run);
  }
  EXPECT_EQ(look().reason(), "no");
}

// Promise: O1
TEST_P(PostgresConfirmation, TellsTheBytesThatAreRecorded) {
  Client mine = client();
  std::future<mortise::Outcome> beside;
  const mortise::Outcome outcome = mine.make_once("a").run([&](mortise::Run& run) {
    beside = std::async(std::launch::async, [&] { return mine.make_once("a").begin().outcome(); });
    std::this_thread::sleep_for(50ms);  // it waits here
    user_->run(begin());
    charge(run);
    user_->run("commit");
  });
  EXPECT_EQ(outcome.result(), "receipt");
  EXPECT_EQ(beside.get().result(), "receipt");
  EXPECT_EQ(look().result(), "receipt");
}

TEST_P(PostgresConfirmation, NeedsNoResultOfTheBody) {
  Client mine = client();
  const mortise::Outcome outcome = mine.make_once("a").run([&](mortise::Run& run) {
    user_->run(begin());
    charge(run);
    user_->run("commit");
    return std::string(longest_outcome + 1, 'x');
  });
  EXPECT_EQ(outcome.result(), "receipt");
}

TEST_P(PostgresConfirmation, CountsTheTransactionThatIsConcludedLast) {
  Client mine = client();
  mortise::Run run = mine.make_once("a").begin();
  user_->run(begin());
  charge(run, "first");
  user_->run("rollback");
  user_->run(begin());
  charge(run, "second");
  user_->run("commit");
  EXPECT_EQ(run.succeed("first").result(), "second");
  EXPECT_EQ(look().result(), "second");
}

// Promise: O1
TEST_P(PostgresConfirmation, FindsWhatWasCommittedBeforeTheLeaseWasOver) {
  Client mine = client();
  mortise::Run run = mine.make_once("a", {.lease = 1s}).begin();
  user_->run(begin());
  charge(run);
  user_->run("commit");
  lapse();
  await_loss(run);
  const mortise::Outcome outcome = run.succeed("receipt");
  EXPECT_FALSE(outcome.lost());
  EXPECT_EQ(outcome.result(), "receipt");
  EXPECT_EQ(look().result(), "receipt");
}

TEST_P(PostgresConfirmation, FindsThatNothingWasCommittedBeforeTheLeaseWasOver) {
  Client mine = client();
  mortise::Run run = mine.make_once("a", {.lease = 1s}).begin();
  user_->run(begin());
  charge(run);
  user_->run("rollback");
  lapse();
  await_loss(run);
  EXPECT_THAT(run.succeed("receipt"), IsLostAndPending());
}

// Nobody knows what will become of it.
TEST_P(PostgresConfirmation, IsInDoubtAboutATransactionThatIsStillOpen) {
  Client mine = client();
  mortise::Run run = mine.make_once("a", {.lease = 1s}).begin();
  user_->run(begin());
  charge(run);
  lapse();
  await_loss(run);
  const auto took = test::own_duration_of([&] {
    EXPECT_EQ(failure_of([&] { static_cast<void>(run.succeed("receipt")); }).code, Errc::in_doubt);
  });
  EXPECT_LT(took, core::command_timeout(1s) + core::grace);
  user_->run("commit");
  EXPECT_EQ(look().result(), "receipt");
}

TEST_P(PostgresConfirmation, TellsABodyThatFailsAfterTheCommitOfItsSuccess) {
  Client mine = client();
  mortise::Run run = mine.make_once("a").begin();
  user_->run(begin());
  charge(run);
  user_->run("commit");
  EXPECT_EQ(run.fail("it could not tell the customer").result(), "receipt");
  EXPECT_EQ(look().result(), "receipt");
  EXPECT_EQ(see("select expires_at = '-infinity' from mortise.run"), "t");
  EXPECT_THROW(mine.make_once("b").run([&](mortise::Run& other) {
    user_->run(begin());
    charge(other);
    user_->run("commit");
    throw std::runtime_error("it could not tell the customer");
  }),
               std::runtime_error);
  EXPECT_EQ(mine.make_once("b").begin().outcome().result(), "receipt");
}

TEST_P(PostgresConfirmation, IsInDoubtAboutWhatWasForgottenSince) {
  Client mine = client();
  mortise::Run run = mine.make_once("a").begin();
  user_->run(begin());
  charge(run);
  user_->run("commit");
  Client other = client();
  EXPECT_TRUE(other.make_once("a").forget());
  EXPECT_EQ(failure_of([&] { static_cast<void>(run.succeed("receipt")); }).code, Errc::in_doubt);
  EXPECT_EQ(look().state(), KeyState::absent);
}

// By whoever calls the function by hand, say.
// Promise: O1
TEST_P(PostgresConfirmation, TellsNoOtherBytesThanThoseThatAreRecorded) {
  Client mine = client();
  mortise::Run run = mine.make_once("a").begin();
  user_->run(begin());
  user_->run(
      "select mortise.conclude_in(name, attempt, number, true, 'receipt', 60000000)"
      " from mortise.run");
  user_->run("commit");
  EXPECT_EQ(failure_of([&] { static_cast<void>(run.succeed("another")); }).code, Errc::in_doubt);
  EXPECT_EQ(look().result(), "receipt");
}

TEST_P(PostgresConfirmation, IsInDoubtWhereAnotherOutcomeStandsThanItHasWritten) {
  for (const char* change : {"state = 'F'", "bytes = 'another'"}) {
    Client mine = client();
    mortise::Run run = mine.make_once(change).begin();
    user_->run(begin());
    charge(run);
    user_->run("commit");
    server().talk().run(std::string("update mortise.once set ") + change);
    EXPECT_EQ(failure_of([&] { static_cast<void>(run.succeed("receipt")); }).code, Errc::in_doubt)
        << change;
  }
}

INSTANTIATE_TEST_SUITE_P(At, PostgresConfirmation, isolation_levels(), isolation_level_of);

}  // namespace
}  // namespace mortise::fault
