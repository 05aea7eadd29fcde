// SPDX-License-Identifier: MIT
// Goal: the checker is exact. Method: thousands of small random histories, some of a correct lock,
// some of one with a defect, some of pure noise; the checker and an exhaustive search that shares
// nothing with it must agree on every one, and the pair that the checker names must be a
// contradiction by itself.
#include "model/wgl.hpp"

#include "model/checker.hpp"
#include "model/script.hpp"
#include "model/seed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <random>
#include <string>
#include <vector>

namespace mortise::model {
namespace {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  // Evenly in [low, high].
  std::int64_t in(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }
  bool one_in(std::int64_t n) { return in(1, n) == 1; }

 private:
  std::mt19937_64 engine_;
};

constexpr std::int64_t wgl_processes = 3;
constexpr std::int64_t the_end = 1'000;

Script::Client some_client(Random& random) {
  return {static_cast<std::uint32_t>(random.in(0, wgl_processes - 1)),
          static_cast<std::uint32_t>(random.in(0, 1))};
}

Outcome some_release(Random& random) {
  constexpr Outcome outcomes[] = {Outcome::ok, Outcome::ok, Outcome::unknown, Outcome::fail,
                                  Outcome::was_lost};
  return outcomes[random.in(0, 4)];
}

// What may happen to a hold after its grant; nothing of it needs to make sense.
void add_anything(Random& random, Script& script, const Script::Acquired& hold,
                  std::int64_t granted) {
  const auto later = [&] { return granted + random.in(0, 25); };
  for (std::int64_t i = random.in(-3, 2); i > 0; --i) {
    const std::int64_t time = later();
    script.renewal(hold, time, time + random.in(-5, 15));
  }
  if (random.one_in(6)) {
    script.loss(hold, later());
  }
  for (std::int64_t i = random.in(-1, 2); i > 0; --i) {
    const std::int64_t time = later() + random.in(0, 40);
    script.write(hold, time, time + random.in(0, 10),
                 random.one_in(4) ? Outcome::unknown : Outcome::ok);
  }
  for (std::int64_t i = random.in(-3, 5); i > 0; i -= 3) {
    const std::int64_t time = later();
    if (random.one_in(8)) {
      script.open_release(hold, time);
    } else {
      script.release(hold, time, time + random.in(0, 5), some_release(random));
    }
  }
}

void add_unknown(Random& random, Script& script, std::int64_t until) {
  const std::int64_t time = random.in(100, until);
  if (random.one_in(2)) {
    script.open_attempt(some_client(random), 0, time);
  } else {
    script.attempt(some_client(random), 0, time, time + random.in(0, 9),
                   random.one_in(2) ? Outcome::unknown : Outcome::fail);
  }
}

// What the holds of a history are.
enum class Kinds { locks, readers, permits };

constexpr std::uint32_t permits_of_wgl = 2;

void choose(Random& random, Script& script, Kinds kinds) {
  if (kinds == Kinds::permits) {
    script.next_are(random.one_in(12) ? Shape::exclusive : Shape::permit);
  } else if (kinds == Kinds::readers) {
    script.next_are(random.one_in(3) ? Shape::exclusive : Shape::shared);
  }
}

// Windows, tokens and ends at random: mostly nonsense, with many ties.
Script noise(Random& random, Kinds kinds = Kinds::locks) {
  Script script;
  const std::int64_t holds = random.in(1, 5);
  for (std::int64_t i = 0; i < holds; ++i) {
    const std::int64_t invoked = random.in(100, 160);
    const std::int64_t returned = invoked + random.in(0, 40);
    const std::int64_t deadline = random.one_in(2) ? invoked + random.in(-20, 50) : 0;
    // Mostly in the order of time, for else hardly any history would be good.
    const std::int64_t place = random.one_in(6) ? random.in(100, 160) : invoked;
    const auto token = static_cast<std::uint64_t>(random.in(1, 9) + 2 * place);
    choose(random, script, kinds);
    const auto hold = script.acquire(some_client(random), random.one_in(4) ? 1 : 0, token, invoked,
                                     returned, deadline);
    add_anything(random, script, hold, returned);
  }
  for (std::int64_t i = random.in(0, 2); i > 0; --i) {
    add_unknown(random, script, 180);
  }
  if (random.one_in(2)) {
    const auto process = static_cast<std::uint32_t>(random.in(0, wgl_processes - 1));
    script.death(process, random.in(120, 220), the_end);
  }
  return script;
}

// A correct exclusive lock, seen by clients that wait before it and answer late; where `defect`,
// the next holder comes a little too early now and then, or with a token of the past.
Script service(Random& random, bool defect) {
  Script script;
  std::int64_t now = random.in(100, 105);
  std::uint64_t token = 10;
  const bool leases = random.one_in(2);
  for (std::int64_t i = random.in(2, 7); i > 0; --i) {
    token += static_cast<std::uint64_t>(random.in(1, 3));
    const bool wrong_token = defect && random.one_in(4);
    const std::int64_t granted = now;
    const std::int64_t returned = granted + random.in(0, 6);
    const std::int64_t deadline = leases ? granted + random.in(3, 20) : 0;
    const auto hold =
        script.acquire(some_client(random), 0,
                       wrong_token ? token - static_cast<std::uint64_t>(random.in(1, 4)) : token,
                       granted - random.in(0, 15), returned, deadline);
    const std::int64_t sent = returned + random.in(0, 8);
    std::int64_t end = deadline;  // where it is stopped, and never releases
    if (!leases || !random.one_in(3)) {
      script.release(hold, sent, sent + random.in(0, 5),
                     random.one_in(4) ? Outcome::unknown : Outcome::ok);
      end = leases ? std::min(sent, deadline) : sent;
    }
    const std::int64_t early = defect && random.one_in(3) ? random.in(1, 4) : 0;
    now = std::max(granted, end) + random.in(0, 6) - early;
  }
  if (random.one_in(2)) {
    add_unknown(random, script, std::max<std::int64_t>(now, 100));
  }
  return script;
}

// A correct lock for readers and writers, or a correct semaphore: an instant after the other, at
// each of which somebody is granted it or ends. Where `defect`, whoever comes does not always look
// who holds it, or has a token of the past.
Script company(Random& random, Kinds kinds, bool defect) {
  struct Holding {
    Script::Acquired hold;
    std::int64_t since;
    bool exclusive;
  };
  Script script;
  std::vector<Holding> holding;
  std::int64_t now = 100;
  std::uint64_t token = 10;
  for (std::int64_t left = random.in(3, 6); left > 0;) {
    now += random.in(0, 4);
    const bool exclusive = kinds == Kinds::readers && random.one_in(3);
    const bool full = kinds == Kinds::permits
                          ? holding.size() >= permits_of_wgl
                          : !holding.empty() && (exclusive || holding.front().exclusive);
    if ((full && !(defect && random.one_in(5))) || (!holding.empty() && random.one_in(3))) {
      const auto gone =
          static_cast<std::size_t>(random.in(0, static_cast<std::int64_t>(holding.size()) - 1));
      const Holding& ends = holding[gone];
      now = std::max(now, ends.since);
      const std::int64_t sent = now - random.in(0, now - ends.since);
      script.release(ends.hold, sent, now + random.in(0, 5),
                     random.one_in(4) ? Outcome::unknown : Outcome::ok);
      holding.erase(holding.begin() + static_cast<std::ptrdiff_t>(gone));
      continue;
    }
    --left;
    const bool one_grant = kinds == Kinds::readers && !exclusive && random.one_in(3);
    if (!one_grant) token += static_cast<std::uint64_t>(random.in(1, 2));
    const std::uint64_t past =
        defect && random.one_in(6) ? static_cast<std::uint64_t>(random.in(1, 4)) : 0;
    script.next_are(kinds == Kinds::permits ? Shape::permit
                    : exclusive             ? Shape::exclusive
                                            : Shape::shared);
    const std::int64_t returned = now + random.in(0, 6);
    holding.push_back(
        {script.acquire(some_client(random), 0, token - past, now - random.in(0, 15), returned),
         returned, exclusive});
    now = std::max(now, returned - random.in(0, 6));
  }
  return script;
}

// Holds that are in nobody's way, and writes under them at any time.
Script writers(Random& random) {
  Script script;
  for (std::int64_t i = 1; i <= 4; ++i) {
    const auto hold =
        script.acquire(some_client(random), 0, static_cast<std::uint64_t>(i), i, i, i);
    for (std::int64_t writes = random.in(0, 2); writes > 0; --writes) {
      const std::int64_t time = 10 * i + random.in(0, 30);
      script.write(hold, time, time + random.in(0, 15),
                   random.one_in(6) ? Outcome::unknown : Outcome::ok);
    }
  }
  return script;
}

// The history without any hold but these two. The events of the others stay, as attempts in vain:
// they are signs of life of their processes.
std::vector<Event> only(std::vector<Event> events, const Violation& violation) {
  for (Event& event : events) {
    const bool kept = event.op == violation.first.op || event.op == violation.second.op ||
                      event.op == violation.between;
    const bool grants = event.operation == Operation::acquire && event.outcome == Outcome::ok;
    if (grants && !kept) {
      event.outcome = Outcome::fail;
    } else if (event.operation == Operation::write && event.outcome == Outcome::ok) {
      event.outcome = Outcome::unknown;
    }
  }
  return events;
}

std::string dump(const std::vector<Event>& events) {
  std::string text;
  for (const Event& event : events) {
    text += std::string(to_string(event.operation)) + " " + to_string(event.phase) + " " +
            to_string(event.outcome) + " op " + std::to_string(event.op) + " hold " +
            std::to_string(event.hold) + " process " + std::to_string(event.process) + " name " +
            std::to_string(event.name) + " token " + std::to_string(event.token) + " time " +
            std::to_string(event.time) + " deadline " + std::to_string(event.deadline) + "\n";
  }
  return text;
}

struct Verdicts {
  std::uint64_t good = 0;
  std::uint64_t bad = 0;
};

// Both judges on one history, with its events in any order.
void compare(Random& random, Script& script, Verdicts& tally) {
  std::vector<Event>& events = script.events();
  for (std::size_t i = events.size(); i > 1; --i) {
    const auto other = static_cast<std::size_t>(random.in(0, static_cast<std::int64_t>(i) - 1));
    std::swap(events[i - 1], events[other]);
  }
  const bool excuses = random.one_in(4);
  const Report report = check(events, {.permits = permits_of_wgl, .loss_excuses = excuses});
  ASSERT_FALSE(report.has(Fault::malformed)) << report.text() << "\n" << dump(events);
  ASSERT_EQ(report.ok(), wgl_accepts(events, excuses, permits_of_wgl))
      << report.text() << "\nloss_excuses " << excuses << "\n"
      << dump(events);
  ++(report.ok() ? tally.good : tally.bad);
  for (const Violation& violation : report.violations) {
    if (violation.fault != Fault::stale_write && violation.fault != Fault::too_many) {
      ASSERT_FALSE(wgl_accepts(only(events, violation), excuses, permits_of_wgl))
          << violation.sentence << "\n"
          << dump(events);
    }
  }
}

TEST(Wgl, KnowsTheTextbookCases) {
  Script turns;
  turns.release(turns.acquire({0, 0}, 0, 1, 0, 10), 20, 30);
  turns.release(turns.acquire({1, 0}, 0, 2, 5, 25), 40, 50);
  EXPECT_TRUE(wgl_accepts(turns.events()));

  Script overlap;
  overlap.release(overlap.acquire({0, 0}, 0, 1, 0, 10), 20, 30);
  overlap.acquire({1, 0}, 0, 2, 5, 19);
  EXPECT_FALSE(wgl_accepts(overlap.events()));

  Script backwards;
  backwards.release(backwards.acquire({0, 0}, 0, 2, 0, 10), 20, 30);
  backwards.acquire({1, 0}, 0, 1, 40, 50);
  EXPECT_FALSE(wgl_accepts(backwards.events()));

  Script crowd;
  for (std::uint64_t token = 1; token <= 20; ++token) {
    crowd.release(crowd.acquire({0, 0}, 0, token, 0, 10, 5), 20, 30);
  }
  EXPECT_THROW(wgl_accepts(crowd.events()), std::length_error);
}

TEST(Wgl, AgreesWithTheCheckerOnEveryRandomHistory) {
  Random random(test_seed());
  constexpr std::uint64_t rounds = 6'000;
  Verdicts of_noise;
  Verdicts of_defects;
  Verdicts of_writers;
  Verdicts of_service;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    Script any = noise(random);
    ASSERT_NO_FATAL_FAILURE(compare(random, any, of_noise));
    Script defect = service(random, true);
    ASSERT_NO_FATAL_FAILURE(compare(random, defect, of_defects));
    Script writes = writers(random);
    ASSERT_NO_FATAL_FAILURE(compare(random, writes, of_writers));
    Script correct = service(random, false);
    ASSERT_NO_FATAL_FAILURE(compare(random, correct, of_service));
  }
  std::cout << "noise: " << of_noise.good << " good, " << of_noise.bad
            << " bad; defects: " << of_defects.good << " good, " << of_defects.bad
            << " bad; writers: " << of_writers.good << " good, " << of_writers.bad
            << " bad; correct: " << of_service.good << " good\n";
  EXPECT_EQ(of_service.bad, 0U) << "a false alarm over a correct lock";
  // A test that met only one of the verdicts would prove nothing.
  EXPECT_GT(std::min(of_noise.good, of_noise.bad), rounds / 20);
  EXPECT_GT(std::min(of_defects.good, of_defects.bad), rounds / 20);
  EXPECT_GT(std::min(of_writers.good, of_writers.bad), rounds / 20);
}

void expect_agreement(Kinds kinds) {
  Random random(test_seed());
  constexpr std::uint64_t rounds = 4'000;
  Verdicts of_noise;
  Verdicts of_defects;
  Verdicts of_service;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    Script any = noise(random, kinds);
    ASSERT_NO_FATAL_FAILURE(compare(random, any, of_noise));
    Script defect = company(random, kinds, true);
    ASSERT_NO_FATAL_FAILURE(compare(random, defect, of_defects));
    Script correct = company(random, kinds, false);
    ASSERT_NO_FATAL_FAILURE(compare(random, correct, of_service));
  }
  std::cout << "noise: " << of_noise.good << " good, " << of_noise.bad
            << " bad; defects: " << of_defects.good << " good, " << of_defects.bad
            << " bad; correct: " << of_service.good << " good\n";
  EXPECT_EQ(of_service.bad, 0U) << "a false alarm over a correct one";
  EXPECT_GT(std::min(of_noise.good, of_noise.bad), rounds / 20);
  EXPECT_GT(std::min(of_defects.good, of_defects.bad), rounds / 20);
}

TEST(Wgl, AgreesWithTheCheckerOnReadersAndWriters) { expect_agreement(Kinds::readers); }

TEST(Wgl, AgreesWithTheCheckerOnPermits) { expect_agreement(Kinds::permits); }

}  // namespace
}  // namespace mortise::model
