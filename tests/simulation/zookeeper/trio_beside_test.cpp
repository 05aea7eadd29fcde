// SPDX-License-Identifier: MIT
// Goal: three servers of the model that get into trouble do to their clients what three real ones
// do. Method: one script for both, whose story is compared line by line; how long something took is
// held against the same bounds, which follow from ticks and limits. Who is elected is not compared.
#include "simulation/zookeeper/beside/client.hpp"
#include "simulation/zookeeper/beside/trio.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace simulation::zookeeper {
namespace {

using namespace std::chrono_literals;
using mortise::test::ZooKeeperServer;

constexpr auto silence = trio_sync_limit * trio_tick;  // after which a server gives up
constexpr auto busy = 4s;  // what a machine with other things to do may add
constexpr int models = 10;

struct Story {
  std::vector<std::string> lines{};
  std::map<std::string, Nanos> times{};
  void tell(const std::string& line) { lines.push_back(line); }
  void tell(const std::string& what, bool yes) { tell(what + (yes ? ": yes" : ": no")); }
  void tell(const std::string& what, const Answer& answer) {
    tell(what + ": " + std::to_string(answer.code));
  }
  void tell_events(const std::string& who, Client& client) {
    for (const std::string& frame : client.take_events()) {
      tell(who + " is told: " + Words().of(frame, 0));
    }
  }
};

using Script = std::function<void(Trio&, Story&)>;
struct Bounds {
  Nanos least;
  Nanos most;
};

/// What becomes of requests that nobody has answered yet.
std::string end_of(Client& client) {
  try {
    return "answered: " + std::to_string(client.receive().code);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

/// Goes to a server until that takes it, or says that the session is over.
bool comes_back(Trio& all, Client& client, std::size_t server) {
  return all.comes([&] {
    try {
      return client.connect(server) || client.expired();
    } catch (const std::runtime_error&) {
      return false;  // it is not there
    }
  });
}

/// A leader that is asked to sync may not have carried out what its followers have.
bool sees(Trio& all, Client& client, const std::string& path, std::int32_t code) {
  return all.comes([&] {
    client.ask(op::sync, path_body("/"));
    return client.ask(op::exists, watch_body(path, false)).code == code;
  });
}

class ZooKeeperTrioBesideLong : public ::testing::Test {
 protected:
  void SetUp() override { MORTISE_NEEDS_ZOOKEEPER(); }

  void play(const Script& script, const std::map<std::string, Bounds>& bounds,
            RealTrio::Links links) {
    Story real;
    {
      RealTrio all(links);
      script(all, real);
    }
    for (const std::string& line : real.lines) std::cout << "  " << line << '\n';
    hold_against(real, bounds, "the real servers");
    for (int seed = 1; seed <= models && !HasFailure(); ++seed) {
      ModelTrio all(static_cast<std::uint64_t>(seed));
      Story model;
      script(all, model);
      EXPECT_EQ(model.lines, real.lines) << "seed " << seed;
      hold_against(model, bounds, "seed " + std::to_string(seed));
    }
  }

 private:
  static void hold_against(const Story& story, const std::map<std::string, Bounds>& bounds,
                           const std::string& whose) {
    EXPECT_EQ(story.times.size(), bounds.size());
    for (const auto& [what, took] : story.times) {
      const double seconds = std::chrono::duration<double>(took).count();
      std::cout << "  " << whose << ": " << what << " after " << seconds << " s\n";
      const auto bound = bounds.find(what);
      ASSERT_NE(bound, bounds.end()) << what;
      EXPECT_GE(took, bound->second.least) << whose << ": " << what;
      EXPECT_LE(took, bound->second.most) << whose << ": " << what;
    }
  }
};

// Reads are a server's own affair; who owns a session is the leader's.
void move(Trio& all, Story& story) {
  const std::size_t leads = all.leader();
  const std::size_t old = (leads + 1) % Trio::size;
  Client client(all.place(), old, 20s);
  auto before = all.place().connect(old);
  before->send(greeting_frame(20'000, client.welcome().session, client.welcome().password));
  story.tell("a second connection", before->next().has_value());
  story.tell("goes elsewhere", client.connect(leads));
  story.tell("creates", client.ask(op::create, create_body("/a", flag::persistent)));
  constexpr std::int32_t number = 77;  // another one than the client's own
  before->send(request_frame(number, op::sync, path_body("/")));
  story.tell("the old one is answered a sync", before->next().has_value());
  before->send(request_frame(number, op::exists, watch_body("/a", true)));
  const auto read = before->next();
  story.tell("and a read", read && Words().of(*read, op::sync).starts_with("reply 77"));
  before->send(request_frame(number, op::set_data, data_body("/a", "x", -1)));
  story.tell("and a write", before->next().has_value());
  const Answer answer = client.ask(op::get_data, watch_body("/a", false));
  story.tell("what the new one reads", answer);
  story.tell("nothing was written", std::string(In(answer.body).text()).empty());
  // The old connection's end does not end the session.
  before.reset();
  story.tell("writes", client.ask(op::set_data, data_body("/a", "y", -1)));
}
TEST_F(ZooKeeperTrioBesideLong, ASessionThatHasMovedReadsWhereItWasAndWritesNoMore) {
  play(move, {}, RealTrio::Links::whole);
}

void cut_a_follower(Trio& all, Story& story) {
  const std::size_t leads = all.leader();
  const std::size_t cut = (leads + 1) % Trio::size;
  const std::size_t other = (leads + 2) % Trio::size;
  Client holder(all.place(), cut, 1s);
  Client requester(all.place(), cut, 20s);
  Client writer(all.place(), cut, 20s);
  Client waiter(all.place(), other, 20s);
  story.tell("the queue", waiter.ask(op::create, create_body("/q", flag::persistent)));
  story.tell("sees it", sees(all, holder, "/q", code::ok));
  const std::string mine = made_by(holder.ask(op::create_2, queue_node()));
  story.tell("sees that", sees(all, waiter, mine, code::ok));
  story.tell("waits", waiter.ask(op::exists, watch_body(mine, true)));
  all.cut_off(cut);
  const Nanos began = all.now();
  requester.send(op::sync, path_body("/"));
  requester.send(op::exists, watch_body("/q", false));
  writer.send(op::create, create_body("/late", flag::persistent));
  bool answered = true;
  bool after_the_end = false;
  const bool gone = all.comes([&] {
    waiter.ask(op::ping);
    for (const std::string& frame : waiter.take_events()) {
      story.tell("the waiter is told: " + Words().of(frame, 0));
      story.times["the session ends"] = all.now() - began;
    }
    const bool over = story.times.contains("the session ends");
    try {
      if (holder.ask(op::exists, watch_body(mine, false)).code != code::ok) {
        story.tell("the holder sees the end");
      }
      after_the_end = after_the_end || over;
    } catch (const std::runtime_error& error) {
      story.tell(error.what());
      answered = false;
      story.times["the follower gives up"] = all.now() - began;
    }
    return !answered && over;
  });
  story.tell("all has come", gone);
  story.tell("the holder reads its node after its end", after_the_end);
  story.tell("a sync and a read behind it: " + end_of(requester));
  story.tell("a write: " + end_of(writer));
  story.tell("the holder comes back to the follower", holder.connect(cut));
  story.tell("has ended", holder.expired());
  story.tell("to another one", holder.connect(other));
  story.tell("has ended", holder.expired());
  story.tell("the requester to another one", requester.connect(other));
  story.tell("the writer, to the leader", writer.connect(leads));
  story.tell("what it wrote", writer.ask(op::exists, watch_body("/late", false)));
  story.tell("the holder's node", waiter.ask(op::exists, watch_body(mine, false)));
}
TEST_F(ZooKeeperTrioBesideLong, AFollowerThatIsCutOffReadsOnAndTheLeaderEndsItsSessions) {
  play(cut_a_follower,
       {// What it had heard of at the last ping counts, and ends are rounded up to a tick.
        {"the session ends", {1s - trio_tick, 1s + 2 * trio_tick + busy}},
        {"the follower gives up", {silence - trio_tick, silence + trio_tick + busy}}},
       RealTrio::Links::severable);
}

void cut_the_leader(Trio& all, Story& story) {
  const std::size_t cut = all.leader();
  const std::size_t other = (cut + 1) % Trio::size;
  constexpr auto dead_for = 6s;
  Client inside(all.place(), cut, 30s);
  Client outside(all.place(), other, 30s);
  Client dead(all.place(), other, dead_for);
  story.tell("of it", inside.ask(op::create, create_body("/in", flag::ephemeral)));
  story.tell("of another", outside.ask(op::create, create_body("/out", flag::ephemeral)));
  story.tell("of a dead one", dead.ask(op::create, create_body("/dead", flag::ephemeral)));
  dead.drop();
  all.cut_off(cut);
  const Nanos began = all.now();
  all.place().wait(trio_tick);
  story.tell("a sync", inside.ask(op::sync, path_body("/")));
  story.tell("a read", inside.ask(op::exists, watch_body("/in", false)));
  inside.send(op::create, create_body("/lost", flag::persistent));
  outside.send(op::create, create_body("/lost too", flag::persistent));
  story.tell("another's write: " + end_of(outside));
  const Nanos given_up = all.now();
  story.times["its follower gives up"] = given_up - began;
  story.tell("its own client's write: " + end_of(inside));
  story.times["it gives up"] = all.now() - began;
  story.tell("another one serves", comes_back(all, outside, other));
  story.times["another one serves"] = all.now() - given_up;
  story.tell("the session has ended", outside.expired());
  story.tell("it comes back to whom is cut off", inside.connect(cut));
  story.tell("comes back", comes_back(all, inside, other));
  story.tell("the session has ended", inside.expired());
  for (const char* const path : {"/in", "/out", "/dead", "/lost", "/lost too"}) {
    story.tell(path, inside.ask(op::exists, watch_body(path, true)));
  }
  story.tell("writes", inside.ask(op::create, create_body("/new", flag::persistent)));
  // Its time has begun anew.
  story.tell("the dead one goes", all.comes([&] {
    outside.ask(op::ping);
    return inside.ask(op::exists, watch_body("/dead", false)).code == code::no_node;
  }));
  story.times["the dead one's node goes"] = all.now() - given_up;
  story.tell_events("it", inside);
}
TEST_F(ZooKeeperTrioBesideLong, ALeaderThatIsCutOffCommitsNothingAndAnotherGivesAllTheirTimeAnew) {
  constexpr auto election = 10s;
  play(cut_the_leader,
       {{"its follower gives up", {silence - trio_tick, silence + trio_tick + busy}},
        {"it gives up", {silence - trio_tick, silence + 3 * trio_tick + busy}},
        {"another one serves", {0s, election + busy}},
        {"the dead one's node goes", {6s - trio_tick, 6s + election + 2 * busy}}},
       RealTrio::Links::severable);
}

/// @param leads whether the server that does is restarted
void restart(bool leads, Trio& all, Story& story) {
  const std::size_t leader = all.leader();
  const std::size_t which = leads ? leader : (leader + 1) % Trio::size;
  const std::size_t other = (which + 1) % Trio::size;
  Client mine(all.place(), which, 30s);
  Client theirs(all.place(), other, 30s);
  story.tell("/a", mine.ask(op::create, create_body("/a", flag::ephemeral)));
  story.tell("/b", mine.ask(op::create, create_body("/b", flag::persistent)));
  story.tell("looks at /c", mine.ask(op::exists, watch_body("/c", true)));
  story.tell("looks at /b", mine.ask(op::get_data, watch_body("/b", true)));
  mine.send(op::ping);
  story.tell(end_of(mine));
  all.restart(which);
  mine.send(op::ping);
  story.tell("what it asks: " + end_of(mine));
  if (leads) {
    theirs.send(op::ping);
    // Followers notice at once, but not which of two requests.
    const std::string heard = end_of(theirs);
    story.tell(
        "others are hung up on", heard == "the server has hung up" || [&] {
          theirs.send(op::sync, path_body("/"));
          return end_of(theirs) == "the server has hung up";
        }());
    story.tell("another comes back", comes_back(all, theirs, other));
    story.tell("it has ended", theirs.expired());
  }
  story.tell("/b goes", theirs.ask(op::remove, version_body("/b", -1)));
  story.tell("/c comes", theirs.ask(op::create, create_body("/c", flag::persistent)));
  story.tell("/a stands", theirs.ask(op::exists, watch_body("/a", false)));
  story.tell("comes back", comes_back(all, mine, which));
  story.tell("it has ended", mine.expired());
  story.tell("sees /c", sees(all, mine, "/c", code::ok));
  // Its watches, of what it had seen: data, existence, children.
  Out watches;
  watches.int64(mine.seen() - 3);
  watches.int32(1).text("/b").int32(1).text("/c").int32(0);
  mine.send_as(xid::set_watches, op::set_watches, watches);
  story.tell("its watches", mine.receive());
  story.tell_events("it", mine);
  story.tell("/a", mine.ask(op::exists, watch_body("/a", false)));
  story.tell("/b", mine.ask(op::exists, watch_body("/b", false)));
  story.tell("ends /a", mine.ask(op::remove, version_body("/a", -1)));
}
TEST_F(ZooKeeperTrioBesideLong, SessionsAndWatchesOutliveARestartOfTheirFollower) {
  play([](Trio& all, Story& story) { restart(false, all, story); }, {}, RealTrio::Links::whole);
}
TEST_F(ZooKeeperTrioBesideLong, SessionsAndWatchesOutliveARestartOfTheLeader) {
  play([](Trio& all, Story& story) { restart(true, all, story); }, {}, RealTrio::Links::whole);
}

void stop_the_leader(Trio& all, Story& story) {
  const std::size_t which = all.leader();
  const std::size_t other = (which + 1) % Trio::size;
  Client inside(all.place(), which, 30s);
  Client outside(all.place(), other, 30s);
  story.tell("/a", inside.ask(op::create, create_body("/a", flag::ephemeral)));
  all.stop(which);
  const Nanos began = all.now();
  inside.send(op::create, create_body("/b", flag::persistent));
  outside.send(op::create, create_body("/c", flag::persistent));
  story.tell("a follower's write: " + end_of(outside));
  story.times["its follower gives up"] = all.now() - began;
  story.tell("another one serves", comes_back(all, outside, other));
  story.tell("/a stands", outside.ask(op::exists, watch_body("/a", true)));
  story.tell("/d", outside.ask(op::create, create_body("/d", flag::persistent)));
  all.resume(which);
  story.tell("what it was asked: " + end_of(inside));
  story.tell("comes back", comes_back(all, inside, which));
  story.tell("it has ended", inside.expired());
  story.tell("sees /d", sees(all, inside, "/d", code::ok));
  for (const char* const path : {"/a", "/b", "/c", "/d"}) {
    story.tell(path, inside.ask(op::exists, watch_body(path, false)));
  }
  story.tell("ends /a", inside.ask(op::remove, version_body("/a", -1)));
  story.tell("sees the end", sees(all, outside, "/a", code::no_node));
  story.tell_events("another", outside);
}
TEST_F(ZooKeeperTrioBesideLong, ALeaderThatStoodStillCommitsNothingOfThen) {
  play(stop_the_leader,
       {{"its follower gives up", {silence - trio_tick, silence + trio_tick + busy}}},
       RealTrio::Links::whole);
}

}  // namespace
}  // namespace simulation::zookeeper
