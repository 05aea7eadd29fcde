// SPDX-License-Identifier: MIT
#include "simulation/scene/postgres_keys.hpp"

#include <mortise/client.hpp>
#include <mortise/postgres.hpp>

#include <system_error>
#include <thread>

namespace simulation {
namespace {

using mortise::KeyState;
using postgres::Point;
using postgres::Statement;

}  // namespace

void PostgresKeys::come() {
  trial_.begin("runner", [this](Process& process, mortise::Client& mine) {
    mortise::Client other(mortise::postgres::backend(trial_.url("")));
    for (const Point point : {Point::begins, Point::commits, Point::answers}) {
      lose_a_conclusion(process, mine, point);
    }
    conclude_too_late(process, mine, other);
    begin_too_late(process, mine, other);
    begin_in_an_outage(process, mine, other, "begun in an outage", long_outage, Nanos(0));
    begin_in_an_outage(process, mine, other, "begun before a slow cancel", lease + Nanos(1s),
                       slow_cancel);
    forget_too_late(process, mine, other);
    disturb_a_run(mine, other);
    run_for_longer_than_kept(mine, other);
    crash_behind_an_outcome(mine);
  });
  trial_.run_until_gone();
  if (!trial_.judge().verdict()) wait_for_an_outcome();
  if (trial_.judge().verdict()) return;
  // At the end: what others hold would last for an hour longer.
  trial_.begin("successor", [this](Process&, mortise::Client& mine) { set_the_clock_back(mine); });
  trial_.run_until_gone();
}

void PostgresKeys::expect(bool well, const char* promise, const std::string& words) {
  if (!well && !trial_.judge().verdict()) trial_.judge().blame(promise, words);
}

void PostgresKeys::expect_outcome(mortise::Once& key, const std::string& result,
                                  const char* words) {
  const mortise::Outcome outcome = key.look();
  expect(outcome.state() == KeyState::succeeded && outcome.result() == result, "O3",
         std::string("what was told as recorded is not what is remembered: ") + words);
}

// It is said again by another connection: before the first copy, behind it, or while that commits.
void PostgresKeys::lose_a_conclusion(const Process& process, mortise::Client& mine, Point point) {
  Room& room = trial_.room();
  mortise::Once key = mine.make_once("lost/" + std::to_string(static_cast<int>(point)),
                                     {.wait = at_once, .lease = lease});
  mortise::Run run = key.begin();
  trial_.delay([&room, &process, point, lost = false](ConnectionId id, Statement statement,
                                                      Point where) mutable {
    const Connection* const from = room.network.find(id);
    const bool its = from != nullptr && &from->process() == &process;
    if (lost || !its || where != point || statement != Statement::conclude_key) return Nanos(0);
    lost = true;
    // Not now: the server is in the middle of it.
    room.world.after(Nanos(0), [&room, id] {
      if (Connection* const connection = room.network.find(id)) {
        const auto keeper = connection->shared_from_this();
        keeper->cut(true);
      }
    });
    return late_process;
  });
  std::error_code error;
  const mortise::Outcome outcome = run.succeed("result", error);
  expect(error || outcome.state() == KeyState::succeeded, "S5",
         "a conclusion that was said again is said to be lost");
  std::this_thread::sleep_for(2 * late_process);
  trial_.delay({});
  // Where the way to the server is long there was no time for a second answer.
  if (!error) expect_outcome(key, "result", "its answer was lost");
}

// All that the first one says of it reaches the server when somebody else runs it.
void PostgresKeys::conclude_too_late(const Process& process, mortise::Client& mine,
                                     mortise::Client& other) {
  Room& room = trial_.room();
  mortise::Once key = mine.make_once("late", {.wait = at_once, .lease = 1s});
  mortise::Run run = key.begin();
  const Nanos late = room.world.now() + 3s;
  trial_.delay([&room, &process, late](ConnectionId id, Statement statement, Point where) {
    const Connection* const from = room.network.find(id);
    const bool its = from == nullptr || &from->process() == &process;
    const bool says = statement == Statement::conclude_key && room.world.now() < late;
    return its && says && where == Point::begins ? late - room.world.now() : Nanos(0);
  });
  std::error_code error;
  const mortise::Outcome outcome = run.succeed("first", error);
  expect(error || outcome.lost(), "O2", "a run is recorded before the server was told of that");
  mortise::Once its = other.make_once("late", {.wait = 2s, .lease = 4s});
  mortise::Run next = its.begin();
  expect(next && next.number() == 2, "O4", "nobody runs what was not concluded");
  std::this_thread::sleep_for(late - room.world.now() + 100ms);
  trial_.delay({});
  const mortise::Outcome second = next.succeed("second");
  expect(second.state() == KeyState::succeeded, "S3", "a run is not recorded that nobody took");
  expect_outcome(its, "second", "somebody who had lost the key has said something of it");
}

/// The next request to begin a run is lost, and executed a little later.
/// @param outage how long the client cannot reach the server
/// @param cancels_take how long each cancel of it waits for the server
void PostgresKeys::lose_a_begin(const Process& process, Nanos outage, Nanos cancels_take) {
  Room& room = trial_.room();
  trial_.delay([this, &room, &process, outage, cancels_take, lost = false](
                   ConnectionId id, Statement statement, Point where) mutable {
    const Connection* const from = room.network.find(id);
    const bool its = from != nullptr && &from->process() == &process;
    const bool cancels = statement == Statement::cancel_key && where == Point::begins;
    if (its && cancels) return cancels_take;
    if (lost || !its || where != Point::begins || statement != Statement::take_key) return Nanos(0);
    lost = true;
    room.world.after(Nanos(0), [this, &room, &process, outage, id] {
      if (Connection* const connection = room.network.find(id)) {
        const auto keeper = connection->shared_from_this();
        keeper->cut(true);
      }
      if (outage > Nanos(0)) {
        room.network.part(process, trial_.host(), room.world.now() + outage);
      }
    });
    return late_process;
  });
}

// The server comes to it when the same client has begun and concluded that run: it begins none.
void PostgresKeys::begin_too_late(const Process& process, mortise::Client& mine,
                                  mortise::Client& other) {
  mortise::Once key =
      mine.make_once("begun late", {.repeat = mortise::Repeat::always, .wait = 1s, .lease = lease});
  key.begin().succeed("first");
  lose_a_begin(process, Nanos(0), Nanos(0));
  mortise::Run run = key.begin();
  const bool recorded = run && run.succeed("second").state() == KeyState::succeeded;
  mortise::Once its = other.make_once("begun late", {.wait = at_once, .lease = lease});
  for (Nanos slept{}; slept < to_undo_it; slept += a_look) {
    std::this_thread::sleep_for(a_look);
    if (recorded) expect_outcome(its, "second", "a request that came late has begun one more run");
  }
  trial_.delay({});
}

// The lease of that run is over before the client can look at it. If the server is slow, the client
// repeats the cancel of its call before the first one is answered.
void PostgresKeys::begin_in_an_outage(const Process& process, mortise::Client& mine,
                                      mortise::Client& other, const char* name, Nanos outage,
                                      Nanos cancels_take) {
  mortise::Once key =
      mine.make_once(name, {.repeat = mortise::Repeat::always, .wait = 1s, .lease = lease});
  key.begin().succeed("first");
  lose_a_begin(process, outage, cancels_take);
  std::error_code error;
  const bool is_begun = static_cast<bool>(key.begin(error));
  std::this_thread::sleep_for(outage + to_undo_it);
  trial_.delay({});
  if (is_begun) return;
  mortise::Once its = other.make_once(name, {.wait = at_once, .lease = lease});
  expect_outcome(its, "first", "a run that no client knows of has ended with its lease");
}

// The server comes to it when whoever asked has gone, and somebody has run the key once more.
void PostgresKeys::forget_too_late(const Process& process, mortise::Client& mine,
                                   mortise::Client& other) {
  Room& room = trial_.room();
  mortise::Once key = mine.make_once("forgotten", {.wait = at_once, .lease = lease});
  mortise::Once its = other.make_once("forgotten", {.wait = at_once, .lease = lease});
  static_cast<void>(key.begin().fail("no"));
  trial_.delay([&room, &process](ConnectionId id, Statement statement, Point where) {
    const Connection* const from = room.network.find(id);
    const bool waits = from != nullptr && &from->process() == &process && where == Point::begins &&
                       statement == Statement::forget_key;
    return waits ? later_than_a_call : Nanos(0);
  });
  std::thread forgets([&key] {
    std::error_code error;
    static_cast<void>(key.forget(error));
  });
  std::this_thread::sleep_for(late_process);
  its.begin().succeed("result");
  trial_.delay({});
  std::this_thread::sleep_for(later_than_a_call);
  expect_outcome(its, "result", "what somebody wanted to forget was a run before it");
  forgets.join();
}

void PostgresKeys::disturb_a_run(mortise::Client& mine, mortise::Client& other) {
  mortise::Once key = mine.make_once("run", {.fingerprint = "a", .wait = at_once, .lease = lease});
  mortise::Once its = other.make_once("run", {.fingerprint = "a", .wait = at_once, .lease = lease});
  mortise::Once another =
      other.make_once("run", {.fingerprint = "b", .wait = at_once, .lease = lease});
  mortise::Run run = key.begin();
  expect(!its.begin(), "S1", "two run a key");
  static_cast<void>(its.forget());
  expect(its.look().running(), "O3", "a key is forgotten that somebody runs");
  std::error_code error;
  expect(run.succeed("result", error).state() == KeyState::succeeded, "S3",
         "a run is not recorded that nobody took");
  static_cast<void>(another.begin(error));
  expect(error == mortise::Errc::mismatch, "O3", "the outcome of another request is told");
  expect_outcome(key, "result", "others have asked for it meanwhile");
}

void PostgresKeys::run_for_longer_than_kept(mortise::Client& mine, mortise::Client& other) {
  mortise::Once key =
      mine.make_once("long", {.keep = kept_briefly, .wait = at_once, .lease = 2 * lease});
  mortise::Run run = key.begin();
  std::this_thread::sleep_for(kept_briefly + 200ms);
  // Whoever begins a new one removes what is over.
  other.make_once("new", {.wait = at_once, .lease = lease}).begin().give_back();
  mortise::Once its =
      other.make_once("long", {.keep = kept_briefly, .wait = at_once, .lease = lease});
  expect(!its.begin(), "S1", "two run a key that is run for longer than it is kept");
  std::error_code error;
  expect(run.succeed("result", error).state() == KeyState::succeeded, "O3",
         "a key is forgotten that is run for longer than it is kept");
}

void PostgresKeys::crash_behind_an_outcome(mortise::Client& mine) {
  World& world = trial_.room().world;
  mortise::Once key = mine.make_once("crash", {.wait = at_once, .lease = lease});
  key.begin().succeed("result");
  world.after(Nanos(0),
              [this, &world] { trial_.host().restart(world.now() + until_it_is_up_again, true); });
  std::this_thread::sleep_for(2 * until_it_is_up_again);
  expect_outcome(key, "result", "the server has crashed since");
}

// In a queue of the server's the first one would be told alone.
void PostgresKeys::wait_for_an_outcome() {
  constexpr const char* fair = "&mortise.fair=yes";
  trial_.begin(
      "runner",
      [this](Process&, mortise::Client& mine) {
        mortise::Run run = mine.make_once("waited for", {.wait = at_once, .lease = 10s}).begin();
        std::this_thread::sleep_for(5 * until_both_wait);
        concluded_at_ = trial_.room().world.now();
        run.succeed("result");
        std::this_thread::sleep_for(until_all_are_told);  // it has told them by then
      },
      fair);
  for (int i = 0; i < 3; ++i) {
    trial_.begin(
        "waiter",
        [this](Process&, mortise::Client& mine) {
          std::this_thread::sleep_for(until_both_wait);
          mortise::Once key = mine.make_once("waited for", {.wait = 20s, .lease = 10s});
          const mortise::Outcome outcome = key.begin().outcome();
          const Nanos took = trial_.room().world.now() - concluded_at_;
          expect(outcome.state() == KeyState::succeeded, "O1", "a waiter is told nothing");
          expect(
              took < until_all_are_told, "L2",
              "a waiter is told of an outcome only after " + std::to_string(took.count()) + " ns");
        },
        fair);
  }
  trial_.run_until_gone();
}

void PostgresKeys::set_the_clock_back(mortise::Client& mine) {
  World& world = trial_.room().world;
  const mortise::OnceOptions options{.keep = kept_briefly, .wait = at_once, .lease = lease};
  mortise::Once key = mine.make_once("removed", options);
  mortise::Run first = key.begin();
  const mortise::Token before = first.token();
  first.succeed("result");
  std::this_thread::sleep_for(kept_briefly + 200ms);
  mine.make_once("another", options).begin().succeed("result");
  world.after(Nanos(0), [this] { trial_.host().step_wall_clock(-one_hour); });
  std::this_thread::sleep_for(1ms);
  mortise::Run second = key.begin();
  expect(second && second.token() > before, "S2", "the token of a key that was removed shrinks");
  second.give_back();
}

}  // namespace simulation
