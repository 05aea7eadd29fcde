// SPDX-License-Identifier: MIT
#include "model/broken_scenes.hpp"

#include "model/process.hpp"
#include "model/resource.hpp"
#include "support/contract_process.hpp"
#include "support/eventually.hpp"

#include <atomic>
#include <future>
#include <optional>

namespace mortise::model {

namespace {

using test::eventually;

// A's grant is held back while B takes the name.
class LateGrant {
 public:
  LateGrant(ServerPlay& play, bool broken)
      : play_(play),
        broken_(broken),
        a_(play, hold_back_answers(broken, messages_), play.leases.unrenewed),
        b_(play, {}, play.leases.lasting) {}

  void ask() {
    messages_->hold_back();
    taken_ = a_.start_taking(scene_patience);
  }
  Report arrive() {
    EXPECT_TRUE(eventually([&] { return messages_->held_back() == 1; }));
    EXPECT_TRUE(b_.take(scene_patience));
    messages_->let_go();
    if (broken_) {
      EXPECT_TRUE(taken_.get());
      b_.give_back();
    } else {
      EXPECT_TRUE(play_.wait_in_line(1));  // it asks anew
      b_.give_back();
      EXPECT_TRUE(taken_.get());
    }
    a_.give_back();
    return play_.check();
  }

 private:
  ServerPlay& play_;
  const bool broken_;
  const std::shared_ptr<HeldMessages> messages_ = std::make_shared<HeldMessages>();
  Actor a_;
  Actor b_;
  std::future<bool> taken_;
};

// What the test and the process of the stopped holder tell each other.
struct Signals {
  std::atomic<bool> holds{false};
  std::atomic<bool> goes_on{false};
  std::atomic<bool> knows{false};     // at its first look
  std::atomic<bool> accepted{false};  // its last write
};

int hold_and_be_stopped(ServerPlay& play, const contract::Shared<Signals>& signals) {
  ResourceClient client(play.directory.path());
  Actor actor(play, {}, play.leases.renewed);
  if (!actor.take(scene_patience) || !actor.write(client)) return 1;
  signals->holds = true;
  if (!eventually([&] { return signals->goes_on.load(); })) return 2;
  signals->knows = !actor.look();
  signals->accepted = actor.write(client);
  actor.give_back();
  return 0;
}

}  // namespace

Wrap hold_back_answers(bool broken, const std::shared_ptr<HeldMessages>& messages) {
  return [broken, messages](std::unique_ptr<Backend> behind) -> std::unique_ptr<Backend> {
    if (broken) return std::make_unique<CountsFromTheAnswer>(std::move(behind), messages);
    return std::make_unique<AnswerRelay>(std::move(behind), messages);
  };
}

Wrap hold_back_releases(const std::shared_ptr<HeldMessages>& messages) {
  return [messages](std::unique_ptr<Backend> behind) {
    return std::make_unique<ReleaseRelay>(std::move(behind), messages);
  };
}

Wrap frees_whoever_holds(const std::shared_ptr<HeldMessages>& messages,
                         FreesWhoeverHolds::Free free) {
  return [messages, free = std::move(free)](std::unique_ptr<Backend> behind) {
    return std::make_unique<FreesWhoeverHolds>(std::move(behind), messages, free);
  };
}

namespace scenes {

Report late_reply(ServerPlay& play, bool broken) {
  LateGrant grant(play, broken);
  grant.ask();
  return grant.arrive();
}

Report late_push(ServerPlay& play, bool broken) {
  LateGrant grant(play, broken);
  Actor c(play, {}, play.leases.lasting);
  EXPECT_TRUE(c.take());
  grant.ask();
  EXPECT_TRUE(play.wait_in_line(1));
  c.give_back();
  return grant.arrive();
}

Report late_release(ServerPlay& play, bool broken) {
  const auto messages = std::make_shared<HeldMessages>();
  Actor a(play, broken ? play.break_releases(messages) : hold_back_releases(messages),
          play.leases.unrenewed);
  Actor b(play, {}, play.leases.lasting);
  Actor c(play, {}, play.leases.lasting);
  // With time: an answer that takes longer than so short a lease gives nothing.
  EXPECT_TRUE(a.take(scene_patience));
  messages->hold_back();
  const std::future<void> given_back = a.start_giving_back();
  EXPECT_TRUE(b.take(scene_patience));
  messages->let_go();
  given_back.wait();
  EXPECT_EQ(c.take(), broken);
  b.give_back();
  if (broken) c.give_back();
  return play.check();
}

Report tokens(ServerPlay& play, const CountsApart::Counter& counter,
              const std::function<void()>& happens, bool taken) {
  ResourceProcess resource(MORTISE_BIN_DIR, play.directory.path());
  ResourceClient client(play.directory.path());
  const Wrap wrap = [&](std::unique_ptr<Backend> behind) -> std::unique_ptr<Backend> {
    if (!counter) return behind;
    return std::make_unique<CountsApart>(std::move(behind), counter);
  };
  Actor a(play, wrap, play.leases.lasting);
  Actor b(play, wrap, play.leases.lasting);
  for (int time = 0; time < 3; ++time) {
    EXPECT_TRUE(a.take());
    EXPECT_TRUE(a.write(client));
    a.give_back();
  }
  happens();
  EXPECT_TRUE(b.take(scene_patience));
  // Or a right holder is refused by the resource, since the token that it was given is old.
  EXPECT_EQ(b.write(client), taken);
  b.give_back();
  return play.check();
}

void stopped_holder(ServerPlay& play, bool fenced) {
  ResourceProcess resource(MORTISE_BIN_DIR, play.directory.path(), {.fenced = fenced});
  ResourceClient client(play.directory.path());
  const contract::Shared<Signals> signals;
  Process a = Process::fork_child([&] { return hold_and_be_stopped(play, signals); });
  play.processes = 1;
  ASSERT_TRUE(eventually([&] { return signals->holds.load(); }));
  ASSERT_TRUE(a.stop());
  Actor b(play, {}, play.leases.lasting);
  EXPECT_TRUE(b.take(scene_patience));
  EXPECT_TRUE(b.write(client));
  signals->goes_on = true;
  a.resume();
  const std::optional<Exit> exit = a.wait_for(scene_patience);
  ASSERT_TRUE(exit.has_value());
  EXPECT_EQ(exit->code, 0);
  b.give_back();
  EXPECT_TRUE(signals->knows);
  EXPECT_EQ(signals->accepted, !fenced);
  const Report report = play.check();
  EXPECT_EQ(report.ok(), fenced) << report.text();
  EXPECT_EQ(report.has(Fault::stale_write), !fenced) << report.text();
  EXPECT_EQ(resource.statistics().refused, fenced ? 1U : 0U);
}

}  // namespace scenes

}  // namespace mortise::model
