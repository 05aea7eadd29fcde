// SPDX-License-Identifier: MIT
// Goal: the requests of a session leave in order, at most 4,096 are under way, each is answered once,
// and a server counts as silent from the moment when the first of them left. Method: known orders
// of requests and replies; the time is given.
#include "unit/zookeeper_time.hpp"
#include "zookeeper/calls.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mortise::zookeeper {
namespace {

using namespace std::chrono_literals;

class ZooKeeperCalls : public ::testing::Test {
 protected:
  void ask(const std::string& path, bool is_in_sync = false) {
    calls_.add({Ask::get, path}, note(path), is_in_sync);
  }
  Calls::Answer note(const std::string& path) {
    return [this, path](const Reply& reply) {
      answers_.push_back(path + (reply.code == Code::ok         ? ""
                                 : reply.code == Code::unknown  ? " unknown"
                                 : reply.code == Code::not_done ? " not done"
                                                                : " ended"));
    };
  }
  void leave(Instant now = at(0ms)) {
    calls_.let_leave(now, now - 1s, [&](const Request& request, std::uint64_t number) {
      sent_.push_back(request.path);
      numbers_.push_back(number);
      return request.path != "none";
    });
    calls_.flushed(now);
  }
  /// The server answers the oldest request.
  Calls::Call reply(Code code = Code::ok) {
    const Reply word{.code = code, .number = -1};
    const std::optional<Calls::Call> call = calls_.take(numbers_.at(replies_++), word);
    EXPECT_TRUE(call);
    if (!call) return {};
    call->tell(word);
    return *call;
  }

  Calls calls_;
  std::vector<std::string> sent_;
  std::vector<std::uint64_t> numbers_;
  std::size_t replies_ = 0;
  std::vector<std::string> answers_;
};

using Texts = std::vector<std::string>;

TEST_F(ZooKeeperCalls, LeaveInOrderAndAreAnsweredOnce) {
  ask("a");
  ask("b");
  leave(at(5ms));
  ask("c");
  leave(at(6ms));
  EXPECT_EQ(sent_, (Texts{"a", "b", "c"}));
  EXPECT_EQ(reply().asked, at(5ms));
  const Calls::Call second = reply();
  EXPECT_EQ(second.request.path, "b");
  EXPECT_EQ(second.known, at(5ms) - 1s);
  EXPECT_FALSE(calls_.empty());
  EXPECT_EQ(reply().asked, at(6ms));
  EXPECT_TRUE(calls_.empty());
  EXPECT_EQ(answers_, (Texts{"a", "b", "c"}));
  EXPECT_FALSE(calls_.take(numbers_.front(), {.code = Code::ok})) << "answered already";
}

TEST_F(ZooKeeperCalls, AtMost4096AreUnderWayAndTheRestWaitInOrder) {
  for (int i = 0; i < 4'200; ++i) ask(std::to_string(i));
  leave(at(0ms));
  ASSERT_EQ(sent_.size(), Calls::most_under_way);
  leave(at(1ms));
  EXPECT_EQ(sent_.size(), Calls::most_under_way) << "no reply has made room";
  reply();
  reply();
  leave(at(9ms));
  ASSERT_EQ(sent_.size(), Calls::most_under_way + 2);
  EXPECT_EQ(sent_.back(), "4097");
  while (replies_ < 4'097) reply();
  EXPECT_EQ(reply().asked, at(9ms)) << "its time counts from when it left";
  leave(at(10ms));
  EXPECT_EQ(sent_.size(), 4'200U);
  EXPECT_EQ(sent_.back(), "4199");
}

TEST_F(ZooKeeperCalls, TheServerIsSilentFromWhenARequestLeft) {
  EXPECT_EQ(calls_.silent_for(3s), never);
  ask("a");
  EXPECT_EQ(calls_.silent_for(3s), never) << "it has not left";
  leave(at(100ms));
  EXPECT_EQ(calls_.silent_for(3s), at(3'100ms));
  ask("b");
  leave(at(2'000ms));
  EXPECT_EQ(calls_.silent_for(3s), at(3'100ms)) << "the first one has no reply";
  reply();
  EXPECT_EQ(calls_.silent_for(3s), at(3'100ms)) << "a refusal that may pass is no sign of life";
  calls_.heard(at(2'500ms));
  EXPECT_EQ(calls_.silent_for(3s), at(5'500ms)) << "a server that answers is alive";
  reply();
  calls_.heard(at(2'600ms));
  EXPECT_EQ(calls_.silent_for(3s), never) << "it owes nothing";
}

// The server refused the last request for now, which is no sign of life. Much later the next one
// leaves.
// Promise: L8
TEST_F(ZooKeeperCalls, AServerThatOwesNothingIsNotSilent) {
  std::chrono::milliseconds time = 0ms;
  for (const Code code : {Code::not_done, Code::unknown, Code::ok}) {
    ask("a");
    leave(at(time));
    EXPECT_EQ(calls_.silent_for(3s), at(time + 3s));
    reply(code);
    EXPECT_EQ(calls_.silent_for(3s), never);
    time += 9s;
  }
}

TEST_F(ZooKeeperCalls, WithTheConnectionAllAreAnswered) {
  for (int i = 0; i < 514; ++i) ask(std::to_string(i));
  leave();
  calls_.drain(Code::unknown);
  EXPECT_TRUE(calls_.empty());
  ASSERT_EQ(answers_.size(), 514U);
  EXPECT_EQ(answers_.front(), "0 unknown");
  EXPECT_EQ(answers_.back(), "513 unknown") << "which had not left";
  EXPECT_EQ(calls_.silent_for(3s), never);
  ask("next");
  leave();
  EXPECT_EQ(sent_.back(), "next") << "the next connection has room";
}

TEST_F(ZooKeeperCalls, ARequestThatCannotBeSentIsAnswered) {
  ask("a");
  ask("none");
  ask("b");
  leave();
  EXPECT_EQ(answers_, (Texts{"none unknown"}));
  EXPECT_EQ(sent_, (Texts{"a", "none", "b"}));
  reply();
  replies_ = 2;
  reply();
  EXPECT_TRUE(calls_.empty());
}

// The request right behind a refused sync may be out of date.
TEST_F(ZooKeeperCalls, ARefusedSyncRefusesTheRequestBehindIt) {
  const struct {
    Code sync;
    Code list;
    const char* answer;
  } cases[] = {{Code::ok, Code::ok, "list"},
               {Code::not_done, Code::ok, "list not done"},
               {Code::wrong, Code::ok, "list not done"},
               {Code::no_user, Code::ok, "list unknown"},
               {Code::not_done, Code::ended, "list ended"},
               {Code::unknown, Code::unknown, "list unknown"}};
  for (const auto& each : cases) {
    answers_.clear();
    calls_.add({Ask::sync, "list"}, {});
    ask("list", true);
    ask("other");
    leave();
    reply(each.sync);
    reply(each.list);
    reply();
    EXPECT_EQ(answers_, (Texts{each.answer, "other"}));
  }
}

TEST_F(ZooKeeperCalls, ContainersAreAskedForUntilAServerDoesNotKnowThem) {
  std::vector<Ask> kinds;
  const auto leave_as = [&] {
    calls_.add({Ask::create_container, "a"}, {});
    calls_.let_leave(at(0ms), {}, [&](const Request& request, std::uint64_t number) {
      kinds.push_back(request.kind);
      static_cast<void>(number);
      return true;
    });
  };
  leave_as();
  static_cast<void>(calls_.take(1, {.code = Code::unsupported}));
  leave_as();
  calls_.forget_servers();
  leave_as();
  EXPECT_EQ(kinds, (std::vector{Ask::create_container, Ask::create, Ask::create_container}));
}

}  // namespace
}  // namespace mortise::zookeeper
