// SPDX-License-Identifier: MIT
// Goal: the checker and the resource catch the faults that lock services have had, in every run, or
// the run is void. Method: for each a scene that the test directs step by step, under a clock of
// its own; played with a right backend it must be found good, with the broken one it must be
// caught, and for the right reason.
#include "model/broken_backends.hpp"

#include <mortise/memory.hpp>

#include "model/broken_scenes.hpp"
#include "support/eventually.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <utility>

namespace mortise::model {
namespace {

using namespace std::chrono_literals;
using test::eventually;

constexpr std::chrono::milliseconds lease = scene_lease;

// A server in this process, under a clock of the test's own.
struct ServerByHand {
  std::shared_ptr<ManualClock> clock = std::make_shared<ManualClock>();
  memory::Server server{clock};
};

struct MemoryPlay : ServerByHand, Play {
  MemoryPlay() : Play([this] { return server.backend(); }, clock) {}
};

// A's release is on its way for so long that A's lease ends, and B has the name when it arrives.
Report late_release(MemoryPlay& play, bool broken) {
  const auto messages = std::make_shared<HeldMessages>();
  const auto free = [&play](const std::string& name) { play.server.drop(name); };
  Actor a(play, broken ? frees_whoever_holds(messages, free) : hold_back_releases(messages));
  Actor b(play, {});
  Actor c(play, {});
  EXPECT_TRUE(a.take());
  messages->hold_back();
  a.give_back();
  play.clock->advance(lease);
  EXPECT_TRUE(b.take());
  messages->let_go();
  EXPECT_EQ(c.take(), broken);
  b.give_back();
  if (broken) c.give_back();
  return play.check();
}

TEST(BrokenBackends, AReleaseThatFreesWhoeverHoldsIsCaught) {
  expect_caught<MemoryPlay>(Fault::overlap, late_release);
}

// A's grant is on its way for a third of the lease; B takes the name when the server's lease ends.
Report late_answer(MemoryPlay& play, bool broken) {
  const auto messages = std::make_shared<HeldMessages>();
  Actor a(play, hold_back_answers(broken, messages));
  Actor b(play, {});
  messages->hold_back();
  std::future<bool> taken = a.start_taking(lease);
  EXPECT_TRUE(eventually([&] { return messages->held_back() == 1; }));
  play.clock->advance(lease / 3);
  messages->let_go();
  EXPECT_TRUE(taken.get());
  play.clock->advance(lease - lease / 3);
  EXPECT_EQ(a.look(), broken);
  EXPECT_TRUE(b.take());
  b.give_back();
  a.give_back();
  return play.check();
}

TEST(BrokenBackends, ALeaseCountedFromTheAnswerIsCaught) {
  expect_caught<MemoryPlay>(Fault::overlap, late_answer);
}

// B is granted the name while it is stopped, wakes when the lease of that grant has ended and C has
// the name, and believes what it then reads.
Report late_wake_up(MemoryPlay& play, bool broken) {
  const auto messages = std::make_shared<HeldMessages>();
  Actor a(play, {});
  Actor b(play, hold_back_answers(broken, messages));
  Actor c(play, {});
  EXPECT_TRUE(a.take());
  std::future<bool> taken = b.start_taking(10s);
  EXPECT_TRUE(eventually([&] { return play.server.waiters() == 1; }));
  messages->hold_back();
  a.give_back();
  EXPECT_EQ(messages->held_back(), 1U);
  play.clock->advance(lease);
  EXPECT_TRUE(c.take());
  messages->let_go();
  if (broken) {
    EXPECT_TRUE(taken.get());
    c.give_back();
  } else {
    // It asks anew, and waits for C.
    EXPECT_TRUE(eventually([&] { return play.server.waiters() == 1; }));
    c.give_back();
    EXPECT_TRUE(taken.get());
  }
  b.give_back();
  return play.check();
}

// B, who waits for A, wakes up although A still holds.
Report false_wake_up(MemoryPlay& play, bool broken) {
  const LockOptions long_lease{.lease = 10s, .renew = false};
  Actor a(play, {}, long_lease);
  Actor b(
      play,
      [&](std::unique_ptr<Backend> behind) -> std::unique_ptr<Backend> {
        if (broken) return std::make_unique<BelievesTheWakeUp>(std::move(behind));
        return behind;
      },
      long_lease);
  EXPECT_TRUE(a.take());
  std::future<bool> taken = b.start_taking(10s);
  EXPECT_TRUE(eventually([&] { return play.server.waiters() == 1; }) && b.waits());
  play.clock->advance(1s);  // a waiter looks for itself
  if (broken) {
    EXPECT_TRUE(taken.get());
  }
  a.give_back();
  if (!broken) {
    EXPECT_TRUE(taken.get());
  }
  b.give_back();
  return play.check();
}

TEST(BrokenBackends, AWaiterThatDoesNotLookAtItsTurnIsCaught) {
  expect_caught<MemoryPlay>(Fault::overlap, false_wake_up);
}

TEST(BrokenBackends, AWaiterThatDoesNotLookAtItsLeaseIsCaught) {
  expect_caught<MemoryPlay>(Fault::overlap, late_wake_up);
}

// A takes the name three times; the server restarts in between; B takes it.
Report restart(std::uint64_t numbers_before, std::uint64_t numbers_after, bool fence) {
  MemoryPlay play;
  ResourceProcess resource(MORTISE_BIN_DIR, play.directory.path());
  ResourceClient client(play.directory.path());
  std::atomic<std::uint64_t> number(numbers_before);
  const Wrap wrap = [&](std::unique_ptr<Backend> behind) -> std::unique_ptr<Backend> {
    return std::make_unique<CountsApart>(std::move(behind), [&number] { return ++number; });
  };
  Actor a(play, wrap);
  Actor b(play, wrap);
  for (int time = 0; time < 3; ++time) {
    EXPECT_TRUE(a.take());
    EXPECT_TRUE(a.write(client));
    a.give_back();
  }
  number = numbers_after;
  EXPECT_TRUE(b.take());
  // A right holder is refused by the resource, since the token that it was given is old.
  EXPECT_EQ(b.write(client), fence);
  b.give_back();
  return play.check();
}

TEST(BrokenBackends, ATokenThatRestartsIsCaught) {
  const Report right = restart(7, 10, true);
  EXPECT_TRUE(right.ok()) << right.text();
  const Report repeated = restart(0, 0, false);
  EXPECT_TRUE(repeated.has(Fault::token_repeated)) << repeated.text();
  const Report backwards = restart(7, 3, false);
  EXPECT_TRUE(backwards.has(Fault::token_backwards)) << backwards.text();
}

// The server forgets A's hold, and B takes the name; then A renews.
Report renewal_of_a_lapsed_hold(MemoryPlay& play, bool broken) {
  Actor a(play,
          [&](std::unique_ptr<Backend> behind) -> std::unique_ptr<Backend> {
            if (broken) return std::make_unique<RevivesHolds>(std::move(behind));
            return behind;
          },
          {.lease = lease});
  Actor b(play, {});
  EXPECT_TRUE(a.take());
  play.server.drop("n");
  EXPECT_TRUE(b.take());
  play.clock->advance(lease / 2);
  // By now it knows, or has been told that all is well, far beyond its first deadline.
  if (broken) {
    EXPECT_TRUE(eventually([&] { return a.valid_for() > lease * 3 / 4; }));
  } else {
    EXPECT_TRUE(eventually([&] { return a.valid_for() == 0ns; }));
  }
  EXPECT_EQ(a.look(), broken);
  b.give_back();
  // Who was told of its loss is excused; the one who was not works on until the scene is over.
  if (!broken) a.give_back();
  return play.check(true);
}

TEST(BrokenBackends, ARenewalThatRevivesIsCaught) {
  expect_caught<MemoryPlay>(Fault::overlap, renewal_of_a_lapsed_hold);
}

// A is stopped in the middle of its work, beyond its lease; B works; A goes on with its write.
void stopped_holder(bool fenced) {
  MemoryPlay play;
  ResourceProcess resource(MORTISE_BIN_DIR, play.directory.path(), {.fenced = fenced});
  ResourceClient client(play.directory.path());
  Actor a(play, {}, {.lease = lease});
  Actor b(play, {});
  EXPECT_TRUE(a.take());
  EXPECT_TRUE(a.write(client));
  play.clock->advance(lease);
  EXPECT_TRUE(b.take());
  EXPECT_TRUE(b.write(client));
  EXPECT_EQ(a.write(client), !fenced);
  b.give_back();
  a.give_back();
  const Report report = play.check();
  const std::vector<AcceptedWrite> log = resource.log();
  EXPECT_EQ(report.ok(), fenced) << report.text();
  EXPECT_EQ(report.has(Fault::stale_write), !fenced) << report.text();
  EXPECT_EQ(first_stale(log) == log.size(), fenced);
  EXPECT_EQ(resource.statistics().stale, 1U);
  EXPECT_EQ(resource.statistics().refused, fenced ? 1U : 0U);
}

TEST(BrokenBackends, AResourceThatTakesOldTokensIsCaught) {
  stopped_holder(true);
  stopped_holder(false);
}

}  // namespace
}  // namespace mortise::model
