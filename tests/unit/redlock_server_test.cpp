// SPDX-License-Identifier: MIT
// Goal: the requests that one server still has to receive are kept until it has answered, even if
// the addresses that lead to it change. Method: a server that no address leads to, with ballots and
// endings of the test's own.
#include "redlock/attempts.hpp"
#include "redlock/server.hpp"
#include "support/fake_host.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <list>
#include <memory>
#include <string>

namespace mortise::redlock {
namespace {

using namespace std::chrono_literals;

constexpr Instant start{1000s};

class LineUser final : public Line::User {
 public:
  void not_asked(Node& /*node*/, const redis::Call& /*take*/) override { ++unasked; }
  void sooner(Instant /*due*/) override {}
  int unasked = 0;
};

/// An address that is never connected.
class NodeUser final : public Node::User {
 public:
  Server* recognise(Node& /*node*/, const std::string& /*run_id*/) override { return nullptr; }
  void up(Node& /*node*/) override {}
  void down(Node& /*node*/, bool /*was_up*/, std::list<redis::Call> /*unanswered*/) override {}
  void answered(Node& /*node*/, const redis::Call& /*call*/, const redis::Reply& /*r*/) override {}
  [[nodiscard]] bool admits(Node& /*node*/, const redis::Call& /*call*/) override { return true; }
  void listens(Node& /*node*/) override {}
  void hinted(Node& /*node*/, const AttemptId& /*attempt*/) override {}
  [[nodiscard]] bool awaits() const noexcept override { return false; }
};

class StandingClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const noexcept override { return time; }
  Instant time = start;
};

std::shared_ptr<Acquisition> wanted(std::uint64_t sequence) {
  return std::make_shared<Acquisition>(
      Acquisition::Request{.attempt = {1, 2, sequence}, .name = "name", .lease = 30s});
}

class RedlockServer : public testing::Test {
 protected:
  /// It was asked for that vote.
  static void ask(Server& server, const std::shared_ptr<Ballot>& ballot) {
    ASSERT_TRUE(server.admits(ballot));
  }
  std::shared_ptr<Ballot> ballot(std::uint32_t step = 1) const {
    return std::make_shared<Ballot>(operation_, step, clock_->now());
  }
  static std::shared_ptr<Ending> ending_of(const Ballot& ballot) {
    const HoldId hold{.name = "name", .attempt = ballot.attempted().attempt, .number = 7};
    return std::make_shared<Ending>(std::make_shared<Release>(hold),
                                    Ending::Terms{.attempt = ballot.attempted().attempt,
                                                  .step = ballot.step,
                                                  .since = start,
                                                  .until = start + 30s});
  }

  const std::shared_ptr<Acquisition> operation_ = wanted(3);
  const std::shared_ptr<StandingClock> clock_ = std::make_shared<StandingClock>();
  const std::shared_ptr<Clock> shared_clock_ = clock_;
  const Requests requests_{"mortise:"};
  const CallWriter writer_{requests_, clock_};
  Line::Nodes nodes_;
  LineUser user_;
  const Line::Shared shared_{
      .nodes = nodes_, .writer = writer_, .clock = shared_clock_, .user = user_};
  Server server_{shared_, 100, start};
};

TEST_F(RedlockServer, MayHaveVotedFromTheRequestToTheAnswer) {
  const auto its = ballot();
  EXPECT_FALSE(server_.may_have(its->id()));
  ask(server_, its);
  EXPECT_TRUE(server_.may_have(its->id()));
  server_.refused(*its);
  EXPECT_FALSE(server_.may_have(its->id()));
}

// Two addresses lead to it, and it refused a request that came by one of them.
TEST_F(RedlockServer, MayVoteYetIfOneOfTwoRequestsWasRefused) {
  const auto its = ballot();
  ask(server_, its);
  ask(server_, its);
  server_.refused(*its);
  EXPECT_TRUE(server_.may_have(its->id()));
  server_.refused(*its);
  EXPECT_FALSE(server_.may_have(its->id()));
}

TEST_F(RedlockServer, EachRoundIsTakenBackByItself) {
  const auto first = ballot(1);
  const auto second = ballot(2);
  ask(server_, first);
  first->end();
  server_.take_back(first);
  EXPECT_TRUE(server_.is_owed());
  ask(server_, second);
  server_.answered_undo(redis::Call::of(remote::Purpose::undo, first, start), {});
  EXPECT_FALSE(server_.may_have(first->id()));
  EXPECT_TRUE(server_.may_have(second->id()));
}

// Promise: S5
TEST_F(RedlockServer, AVoteThatALostRequestMayTakeIsTakenBackOnceMore) {
  const auto its = ballot();
  ask(server_, its);
  redis::Call take = redis::Call::of(remote::Purpose::take, its, start);
  take.written.void_time.after = 50s;
  take.deadline = start + 1s;
  server_.disconnected(remote::alone(std::move(take)));
  its->end();
  server_.take_back(its);
  server_.answered_undo(redis::Call::of(remote::Purpose::undo, its, start), 49s);
  EXPECT_TRUE(server_.may_have(its->id())) << "the request is not void yet";
  EXPECT_GT(server_.exchange().due(), start + 1s);
  EXPECT_LT(server_.exchange().due(), start + 1100ms);
  redis::Call look = redis::Call::of(remote::Purpose::look, its, start + 2s);
  server_.answered_undo(look, 51s);
  EXPECT_FALSE(server_.may_have(its->id()));
}

TEST_F(RedlockServer, AReleaseStaysUntilItIsAnswered) {
  const auto its = ballot();
  ask(server_, its);
  server_.hold(its->id(), 7, start + 30s);
  const auto ending = ending_of(*its);
  server_.end(ending, 30s, false);
  EXPECT_TRUE(server_.is_owed());
  EXPECT_TRUE(server_.may_have(its->id()));
  server_.disconnected(remote::alone(redis::Call::of(remote::Purpose::release, ending, start)));
  EXPECT_TRUE(server_.is_in_doubt(its->id()));
  EXPECT_TRUE(server_.answered_ending(*ending, {}));
  EXPECT_FALSE(server_.may_have(its->id()));
}

TEST_F(RedlockServer, AHoldThatHasEndedGetsNoVote) {
  const auto its = ballot();
  its->number.store(7);
  its->until.put(start + 1s);
  operation_->granted({.number = 7, .counted_from = start, .lease = 30s});
  ask(server_, its);
  clock_->time = start + 1s;
  EXPECT_FALSE(server_.admits(its)) << "it has lapsed";
  its->extend(start + 2s, 30s);
  its->extend(start, 30s);  // a late answer never shortens it
  EXPECT_TRUE(server_.admits(its));
  its->end();
  EXPECT_FALSE(server_.admits(its)) << "or a vote could be asked for behind the release";
}

// Or its round would wait for the answer.
TEST_F(RedlockServer, ARequestThatCannotLeaveIsReportedToItsRound) {
  test::FakeHost host;
  NodeUser node_user;
  const redis::Settings settings = redis::Settings::parse("redis://127.0.0.1:1");
  nodes_.push_back(std::make_unique<Node>(0, host, settings, nullptr, node_user));
  nodes_.front()->lead_to(server_);
  const auto its = ballot();
  server_.ask(its, *nodes_.front());
  EXPECT_EQ(user_.unasked, 1);
  EXPECT_FALSE(server_.may_have(its->id()));
  nodes_.clear();
}

// Its votes have ended by themselves, and no address leads there any more.
TEST_F(RedlockServer, AServerThatIsGoneIsForgottenInTheEnd) {
  auto lost = ballot(1);
  const auto held = ballot(2);
  ask(server_, lost);
  ask(server_, held);
  lost->end();
  server_.take_back(lost);
  server_.end(ending_of(*held), 30s, false);
  clock_->time = start + 30s;
  EXPECT_TRUE(server_.is_owed());
  lost.reset();  // its attempt goes on
  clock_->time = start + 4min;
  EXPECT_FALSE(server_.is_owed());
  Server restarted(shared_, 101, clock_->time);
  restarted.inherit(server_);
  EXPECT_FALSE(restarted.is_owed());
  EXPECT_FALSE(restarted.may_have(held->id()));
}

TEST_F(RedlockServer, AnEndingIsGivenUpWhenItsHoldHasEnded) {
  const auto ending = ending_of(*ballot());
  EXPECT_FALSE(ending->expire(start + 30s + 2min - 1ns));
  EXPECT_FALSE(ending->done());
  EXPECT_TRUE(ending->expire(start + 30s + 2min));
  EXPECT_TRUE(ending->done()) << "so that no exchange sends it again";
  EXPECT_FALSE(ending->release->done())
      << "the exchange of a server completed the release of the library";
}

// The restarted server has another identity, and may still have the votes.
// Promise: L1
TEST_F(RedlockServer, ARestartedServerReceivesWhatTheOneBeforeCannot) {
  const auto lost = ballot(1);
  const auto held = ballot(2);
  ask(server_, lost);
  ask(server_, held);
  lost->end();
  server_.take_back(lost);
  server_.end(ending_of(*held), 30s, false);
  Server restarted(shared_, 101, start);
  EXPECT_TRUE(restarted.begins());
  EXPECT_FALSE(restarted.begins());
  restarted.inherit(server_);
  for (Server* const server : {&server_, &restarted}) {
    EXPECT_TRUE(server->may_have(lost->id()));
    EXPECT_TRUE(server->may_have(held->id()));
    EXPECT_TRUE(server->is_owed());
  }
}

TEST(RedlockAttempts, AHoldStaysUntilItIsForgotten) {
  Attempts attempts(Quorum{.nodes = 3});
  const auto operation = wanted(3);
  const auto its = attempts.find_or_make(operation);
  EXPECT_EQ(attempts.undecided().size(), 1U);
  its->ballot = std::make_shared<Ballot>(operation, 1, start);
  attempts.won(*its, start);
  EXPECT_TRUE(attempts.undecided().empty());
  EXPECT_EQ(attempts.find(operation->request().attempt), its);
  EXPECT_EQ(attempts.find_or_make(operation), its) << "the attempt has two records";
  attempts.forget(*its);
  EXPECT_EQ(attempts.find(operation->request().attempt), nullptr);
}

TEST(RedlockAttempts, HoldsThatLapsedAreForgottenInTheEnd) {
  Attempts attempts(Quorum{.nodes = 3});
  const auto win = [&](std::uint64_t sequence, Instant now, Instant until) {
    const auto operation = wanted(sequence);
    const auto its = attempts.find_or_make(operation);
    its->ballot = std::make_shared<Ballot>(operation, 1, now);
    its->ballot->until.put(until);
    attempts.won(*its, now);
  };
  win(1, start, start);
  for (std::uint64_t i = 2; i < 3000; ++i) win(i, start + 10min, start + 1h);
  EXPECT_EQ(attempts.find({1, 2, 1}), nullptr);
  EXPECT_NE(attempts.find({1, 2, 2}), nullptr);
}

// The library has given them up, and no server could be asked.
TEST(RedlockAttempts, ThoseThatNoCallerWaitsForAreForgottenInTheEnd) {
  Attempts attempts(Quorum{.nodes = 3});
  for (std::uint64_t i = 1; i < 1000; ++i) static_cast<void>(attempts.find_or_make(wanted(i)));
  EXPECT_LT(attempts.undecided().size(), 300U);
}

}  // namespace
}  // namespace mortise::redlock
