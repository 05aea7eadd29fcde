// SPDX-License-Identifier: MIT
// Goal: a dead address delays a connection by a quarter of a second, and never for longer. Method:
// tables of what happens when, and of what the race does then; the test is the sockets and the
// clock.
#include "remote/stream/address_race.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace mortise::remote {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

/// At that time: "no A" = A refuses, "up A" = A is connected, "so far A" = A has answered a step,
/// "" = nothing but the time.
struct Event {
  milliseconds at;
  std::string what;
  std::string does;  ///< "open A, open B, late A, lost", and when to ask again
};

std::string act(AddressRace& race, Instant begin, Instant now) {
  std::string did;
  for (;;) {
    const AddressRace::Step step = race.step(now);
    const std::string name(1, static_cast<char>('A' + step.address));
    switch (step.act) {
      case AddressRace::Act::open: did += "open " + name + ' '; continue;
      case AddressRace::Act::late: did += "late " + name + ' '; continue;
      case AddressRace::Act::lost: return did + "lost";
      case AddressRace::Act::wait: break;
    }
    const auto until = std::chrono::duration_cast<milliseconds>(race.due() - begin);
    return did + "wait " + std::to_string(until.count());
  }
}

void play(std::size_t addresses, const std::vector<Event>& events) {
  AddressRace race(2s);
  const Instant begin{100s};
  race.start(addresses);
  for (const Event& event : events) {
    const Instant now = begin + event.at;
    if (!event.what.empty()) {
      const auto address = static_cast<std::size_t>(event.what.back() - 'A');
      if (event.what.starts_with("no")) race.refused(address, now);
      if (event.what.starts_with("up")) race.connected(address);
      if (event.what.starts_with("so far")) race.came_closer(address, now);
    }
    EXPECT_EQ(act(race, begin, now), event.does) << event.at.count() << " ms: " << event.what;
  }
}

TEST(AddressRace, OneAddressHasItsTime) {
  play(1, {{0ms, "", "open A wait 2000"}, {1999ms, "", "wait 2000"}, {2000ms, "", "late A lost"}});
  play(1, {{0ms, "", "open A wait 2000"}, {10ms, "no A", "lost"}});
}

// A round trip of 1.3 s: TCP, two round trips of TLS 1.2, and then silence.
TEST(AddressRace, EachStepThatTheServerAnswersHasTheWholeTime) {
  play(1, {{0ms, "", "open A wait 2000"},
           {1300ms, "so far A", "wait 3300"},
           {2600ms, "so far A", "wait 4600"},
           {4600ms, "", "late A lost"}});
}

TEST(AddressRace, SingleBytesHaveTheTimeOfSixSteps) {
  play(2, {{0ms, "", "open A wait 250"},
           {250ms, "", "open B wait 2000"},
           {1900ms, "so far A", "wait 2250"},
           {2250ms, "", "late B wait 3900"},
           {3800ms, "so far A", "wait 5800"},
           {5700ms, "so far A", "wait 7700"},
           {7600ms, "so far A", "wait 9600"},
           {9500ms, "so far A", "wait 11500"},
           {11400ms, "so far A", "wait 12000"},
           {12000ms, "", "late A lost"}});
}

TEST(AddressRace, TheNextOneStartsAfterAQuarterOfASecond) {
  play(3, {{0ms, "", "open A wait 250"},
           {249ms, "", "wait 250"},
           {250ms, "", "open B wait 500"},
           {500ms, "", "open C wait 2000"},
           {2000ms, "", "late A wait 2250"},
           {2250ms, "", "late B wait 2500"},
           {2500ms, "", "late C lost"}});
}

TEST(AddressRace, ARefusalStartsTheNextOneAtOnce) {
  play(3, {{0ms, "", "open A wait 250"},
           {10ms, "no A", "open B wait 260"},
           {20ms, "no B", "open C wait 260"},
           {30ms, "no C", "lost"}});
}

TEST(AddressRace, AnOlderOneMayWin) {
  play(2, {{0ms, "", "open A wait 250"}, {250ms, "", "open B wait 2000"}});
  AddressRace race(2s);
  race.start(2);
  const Instant begin{100s};
  act(race, begin, begin);
  act(race, begin, begin + 250ms);
  EXPECT_EQ(race.connected(0), begin) << "since when it was tried";
  EXPECT_TRUE(race.has_more());
}

// A dead address, and a server that restarts, and is up again after half a second.
TEST(AddressRace, ARefusedOneIsTriedAgainWhileAnotherOneHangs) {
  play(2, {{0ms, "", "open A wait 250"},
           {1ms, "no A", "open B wait 251"},
           {251ms, "", "open A wait 2001"},
           {252ms, "no A", "wait 502"},
           {502ms, "", "open A wait 2001"},
           {2001ms, "", "late B wait 2502"},
           {2100ms, "no A", "lost"}});
}

// What wins may be of no use: a server that stands still takes connections, too.
TEST(AddressRace, GoesOnWithTheOthersBehindAWinner) {
  play(3, {{0ms, "", "open A wait 250"},
           {250ms, "", "open B wait 500"},
           {300ms, "up B", "open C wait 550"},
           {310ms, "no C", "open A wait 560"},
           {320ms, "up A", "open C wait 2320"},
           {330ms, "up C", "lost"}});
}

TEST(AddressRace, WithoutAddressesItIsLost) { play(0, {{0ms, "", "lost"}}); }

}  // namespace
}  // namespace mortise::remote
