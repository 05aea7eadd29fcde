// SPDX-License-Identifier: MIT
#include "simulation/scene/plan.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <sstream>

namespace simulation {
namespace {

constexpr std::uint64_t plan_stream = 5;
constexpr std::uint64_t fault_stream = 6;
constexpr std::uint64_t keys_stream = 9;
constexpr std::uint64_t readers_stream = 10;
constexpr std::uint64_t permits_stream = 11;

constexpr Nanos us{1'000};
constexpr Nanos ms{1'000'000};
constexpr Nanos sec{1'000'000'000};

constexpr std::size_t many_specials = 6;
/// Of Redis, where what comes behind a storm (recovery, trials, debris) took half of a run.
constexpr std::size_t longer_storms = 3;

/// How many runs have keys as well, where the store remembers them.
constexpr double part_with_keys = 0.4;
/// And how many have readers, where the store knows the mode.
constexpr double part_with_readers = 0.4;
/// And a semaphore.
constexpr double part_with_permits = 0.3;

constexpr std::array<std::string_view, Fault::kinds> fault_names{
    "stall",        "cut",          "overtake",       "part",         "pause client",
    "kill client",  "pause server", "restart server", "late threads", "preempt",
    "slow network", "close client", "special"};

Fault draw_fault(Random& random, const Plan& plan, std::size_t specials) {
  Fault fault;
  // Some kinds are worth more: two connections of one client that overtake each other, most of all.
  std::array<int, Fault::kinds> weights{10, 5, 8, 3, 4, 2, 2, 1, 3, 6, 2, 2, 3};
  // Where there are many specials each shall come about as often.
  if (specials > many_specials) weights.back() = static_cast<int>(specials);
  // What befalls one server of a quorum costs a vote; what befalls most of them is special.
  if (plan.kind == Kind::redlock) weights = {5, 4, 4, 3, 4, 2, 2, 1, 3, 6, 2, 2, 14};
  // What a client of PostgreSQL's leaves behind at its end is owed for a moment only.
  if (plan.kind == Kind::postgres) weights[11] = 6;
  // Of Redis most specials are ambushes.
  if (plan.kind == Kind::redis) weights.back() = 17;
  int total = 0;
  for (const int weight : weights) total += weight;
  auto drawn = static_cast<int>(random.below(static_cast<std::uint64_t>(total)));
  std::size_t what = 0;
  while (drawn >= weights[what]) drawn -= weights[what++];
  if (what == static_cast<std::size_t>(Fault::What::special) && specials == 0) what = 0;
  fault.what = static_cast<Fault::What>(what);
  fault.at = random.between(20 * ms, plan.storm);
  // All is over when the storm is: what is expected of the calm counts from then.
  // Half of them as long as what protocols count in: leases, provisional leases, time-outs,
  // fallback periods.
  const Nanos length = random.chance(0.5)
                           ? random.spread(100 * us, std::min(plan.lease * 2, 20 * sec))
                           : random.between(200 * ms, 6 * sec);
  // A majority's votes lapse where it is gone for a lease.
  const bool a_lease =
      plan.kind == Kind::redlock && fault.what == Fault::What::special && random.chance(0.5);
  fault.length = std::min(a_lease ? random.between(plan.lease / 2, plan.lease * 2) : length,
                          plan.storm - fault.at);
  fault.who = random.next() >> 8U;
  fault.which = fault.what == Fault::What::special ? random.below(specials) : random.next() >> 8U;
  return fault;
}

/// What a client has found out about its servers is told to whoever asks next, after a pause in
/// which all may have changed; so there is nothing else, and pauses of any length.
void lead_astray(Plan& plan, Random& random) {
  constexpr std::uint64_t twins = 6;  // see RedlockStand
  plan.astray = true;
  plan.threads = plan.names = 1;
  plan.steps = plan.blocks = false;
  plan.stopped = plan.outlived = 0;
  plan.operations = 400;
  plan.lease = std::max(plan.lease, sec);
  plan.longest_hold = 50 * ms;
  plan.longest_pause = 20 * sec;
  plan.storm = 60 * sec;
  plan.faults.clear();
  for (int i = 0; i < 16; ++i) {
    const bool dies = i < 4;
    const Nanos at = random.between(20 * ms, plan.storm - 3 * sec);
    plan.faults.push_back({.what = dies ? Fault::What::kill_client : Fault::What::special,
                           .at = at,
                           .length = random.between(200 * ms, 2 * sec),
                           .who = random.next() >> 8U,
                           .which = dies ? 1 : twins});
  }
}

/// What nobody knows of is found when all has been quiet for some seconds, so it comes late, and
/// its lease is long; and there is nobody else.
void grant_twice(Plan& plan, Random& random) {
  constexpr std::uint64_t second_grant = 12;  // see RedisStand
  plan.clients = 2;
  plan.threads = plan.names = 1;
  plan.steps = plan.blocks = false;
  plan.tries = plan.timed = plan.stopped = plan.outlived = 0;
  plan.operations = std::max<std::size_t>(plan.operations, 600);
  plan.lease = random.between(14 * sec, 30 * sec);
  plan.storm = std::max(plan.storm, 6 * sec);
  std::erase_if(plan.faults, [&](const Fault& each) { return each.at > plan.storm - 5 * sec; });
  for (const Nanos before : {4'500 * ms, 3'000 * ms}) {
    plan.faults.push_back({.what = Fault::What::special,
                           .at = plan.storm - before,
                           .length = ms,
                           .who = 0,
                           .which = second_grant});
  }
}

/// Who has one connection, and more to say than may be under way there, has others wait that never
/// left when it stands still: also what tells of a release that was answered a moment before.
void go_one_way(Plan& plan, Random& random) {
  constexpr std::uint64_t slow_process = 21;  // see PostgresStand
  plan.narrow = true;
  plan.again = slow_process;
  plan.clients = 2 + random.below(2);
  plan.threads = 4 + random.below(2);
  plan.names = 3 + random.below(3);
  plan.tries = plan.stopped = plan.outlived = 0;
  plan.steps = plan.forgets = plan.blocks = false;
  plan.operations = std::max<std::size_t>(plan.operations, 300);
  plan.longest_hold = random.spread(ms, 30 * ms);
  plan.longest_pause = Nanos(0);
  plan.storm = 6 * sec;
  plan.faults.clear();
  for (Nanos at = 100 * ms; at < plan.storm - 2 * sec; at += sec) {
    plan.faults.push_back({.what = Fault::What::special,
                           .at = at,
                           .length = 2 * sec,
                           .who = 0,
                           .which = slow_process});
  }
}

/// The standby is gone again and again, for longer than a client waits for an answer: each commit
/// that is left alone then is a process of the server's that nobody is behind any more.
void lose_the_standby(Plan& plan, Random& random) {
  constexpr std::uint64_t lost_standby = 8;  // see PostgresStand
  plan.again = lost_standby;
  plan.forgets = false;
  plan.storm = std::max(plan.storm, 4 * sec);
  for (int i = 0; i < 3; ++i) {
    plan.faults.push_back({.what = Fault::What::special,
                           .at = random.between(20 * ms, plan.storm - 2 * sec),
                           .length = 2 * sec,
                           .who = 0,
                           .which = lost_standby});
  }
}

/// A fail-over, or the move of a slot, takes seconds, and a hold is to outlast some of them.
void change_servers(Plan& plan) {
  plan.steps = false;
  plan.lease = std::max(plan.lease, 600 * ms);
  plan.storm = std::max(plan.storm, 8 * sec);
}

}  // namespace

std::string name_of(Kind kind) {
  switch (kind) {
    case Kind::memory: return "memory";
    case Kind::redis: return "redis";
    case Kind::redlock: return "redlock";
    case Kind::zookeeper: return "zookeeper";
    case Kind::postgres: return "postgres";
    case Kind::sentinel: return "sentinel";
    case Kind::replicas: return "replicas";
    case Kind::cluster: return "cluster";
  }
  return "?";
}

std::string_view name_of(Fault::What what) { return fault_names[static_cast<std::size_t>(what)]; }

std::string describe(const Fault& fault) {
  std::array<char, 64> numbers{};
  std::snprintf(numbers.data(), numbers.size(), " at %.3f s for %.3f ms",
                static_cast<double>(fault.at.count()) / 1e9,
                static_cast<double>(fault.length.count()) / 1e6);
  return std::string(name_of(fault.what)) + numbers.data();
}

Plan Plan::draw(Kind kind, std::uint64_t seed, std::size_t specials) {
  Random random = Random::of({seed, plan_stream, static_cast<std::uint64_t>(kind)});
  Plan plan;
  plan.kind = kind;
  plan.seed = seed;
  plan.clients = 2 + random.below(4);
  plan.threads = random.chance(0.6) ? 1 : 2 + random.below(3);
  plan.names = random.chance(0.7) ? 1 : 2 + random.below(2);
  // A row that is locked is in the way of its own name only.
  // And who asks for several at a time has more to say on a connection than may be under way there.
  if (kind == Kind::postgres && random.chance(0.1)) {
    plan.names = 4 + random.below(9);
    plan.threads = 2 + random.below(6);
  }
  plan.lease = random.spread(500 * ms, 30 * sec);
  // What happens at the end of a lease, or while one is renewed, happens more often with short
  // ones. PostgreSQL's commands have a sixth of it, which what strangers do to its disk may take
  // alone.
  if (random.chance(0.25) && kind != Kind::postgres) {
    plan.lease = random.spread(100 * ms, 500 * ms);
  }
  // There a hold lasts as long as its session, and nothing ends one before its time.
  if (kind == Kind::zookeeper) plan.lease = random.spread(1'200 * ms, 8 * sec);
  // What is left there by mistake keeps a name for as long.
  if (kind == Kind::postgres && random.chance(0.3)) plan.lease = random.between(12 * sec, 30 * sec);
  plan.renew = random.chance(0.85);
  plan.operations = 1 + static_cast<std::size_t>(random.spread(Nanos(20), Nanos(600)).count());
  plan.storm = random.spread(sec, 30 * sec);
  if (kind == Kind::zookeeper) plan.storm = std::max(plan.storm, 6 * plan.lease);
  // Some hold for as long as protocols count in: what comes late then meets a hold.
  plan.longest_hold =
      random.chance(0.7) ? random.spread(20 * us, 200 * ms) : random.between(300 * ms, 4 * sec);
  plan.longest_pause = random.chance(0.4) ? Nanos(0) : random.spread(10 * us, 100 * ms);
  plan.tries = random.chance(0.5) ? 0 : random.unit() * 0.6;
  plan.timed = random.chance(0.4) ? 0 : random.unit() * 0.8;
  plan.stopped = random.chance(0.7) ? 0 : random.unit() * 0.4;
  plan.reentered = random.chance(0.7) ? 0 : 0.2;
  plan.outlived = random.chance(0.7) ? 0 : 0.03;
  plan.blocks = random.chance(0.3);
  plan.suspends = seed % 5 == 3;
  plan.steps = random.chance(0.1) && kind != Kind::memory && kind != Kind::zookeeper;
  plan.forgets = random.chance(0.1) && kind == Kind::postgres && !plan.steps;
  // Several losses of one client at once, while what is called at one of them still runs.
  if (plan.blocks && seed % 2 == 0) {
    plan.threads = std::max<std::size_t>(plan.threads, 2);
    plan.names = std::max<std::size_t>(plan.names, 2);
    plan.renew = false;
    plan.outlived = 0.1;
  }
  if (kind == Kind::redlock) {
    // Each call costs three to five times what it costs elsewhere: fewer of them in the same time.
    plan.operations = 1 + plan.operations / 4;
    plan.longest_pause = std::min(plan.longest_pause * 20, sec);
    if (seed % 3 == 0) {
      // Holds that outlast what befalls the servers behind them.
      plan.lease = std::min(plan.lease, 500 * ms + plan.lease / 10);
      plan.outlived = 0.3;
    }
  }
  if (kind == Kind::redis) {
    // With fewer operations most of a long storm would meet clients whose work is done.
    plan.storm *= longer_storms;
    plan.operations *= 3 * longer_storms;
  }
  plan.crowd = kind == Kind::redis && random.chance(0.08);
  if (plan.crowd) {
    plan.clients = 5;
    plan.threads = plan.names = 1;
    plan.longest_hold = random.between(sec, 4 * sec);
  }
  if (kind >= Kind::sentinel) change_servers(plan);
  Random faults = Random::of({seed, fault_stream, static_cast<std::uint64_t>(kind)});
  const std::size_t count = static_cast<std::size_t>(faults.spread(Nanos(1), Nanos(40)).count()) *
                            (kind == Kind::redis ? longer_storms : 1);
  for (std::size_t i = 0; i < count; ++i) plan.faults.push_back(draw_fault(faults, plan, specials));
  if (kind == Kind::memory && seed % 4 == 1 && plan.storm > sec) {
    // What is still under way when all is well again: a renewal that comes after its hold is over.
    plan.lease = faults.spread(2 * sec, 20 * sec);
    plan.renew = true;
    const Nanos length = std::min(plan.storm - 100 * ms, plan.lease * 5 / 4);
    plan.faults.push_back({.what = Fault::What::special,
                           .at = plan.storm - length,
                           .length = length,
                           .who = 0,
                           .which = 0});
    plan.longest_hold = std::max(plan.longest_hold, plan.lease / 2);
  }
  if (kind == Kind::redlock && seed % 5 == 3) lead_astray(plan, faults);
  if (kind == Kind::redis && seed % 16 == 7 && !plan.crowd) grant_twice(plan, faults);
  if (kind == Kind::postgres && seed % 32 == 7) go_one_way(plan, faults);
  if (kind == Kind::postgres && seed % 32 == 14) lose_the_standby(plan, faults);
  std::sort(plan.faults.begin(), plan.faults.end(),
            [](const Fault& a, const Fault& b) { return a.at < b.at; });
  Random keys = Random::of({seed, keys_stream, static_cast<std::uint64_t>(kind)});
  if (keys.chance(part_with_keys)) {
    plan.keys = 1 + keys.below(4);
    plan.runners = 1 + keys.below(3);
    plan.keep = keys.chance(0.5) ? keys.between(sec, 4 * sec) : Nanos(3'600 * sec);
  }
  Random readers = Random::of({seed, readers_stream, static_cast<std::uint64_t>(kind)});
  const bool knows_permits = kind == Kind::memory || kind == Kind::postgres ||
                             kind == Kind::zookeeper || kind == Kind::replicas ||
                             kind == Kind::cluster || (kind == Kind::redis && seed % 16 != 7);
  const bool knows_readers = knows_permits || kind == Kind::redlock;
  if (knows_readers && readers.chance(part_with_readers)) {
    plan.readers = 0.2 + readers.unit() * 0.7;
    plan.threads = std::max<std::size_t>(plan.threads, 1 + readers.below(4));
  }
  Random permits = Random::of({seed, permits_stream, static_cast<std::uint64_t>(kind)});
  if (knows_permits && permits.chance(part_with_permits)) {
    plan.permits = static_cast<std::uint32_t>(1 + permits.below(3));
    plan.porters = 1 + permits.below(3);
  }
  return plan;
}

std::string Plan::word() const {
  std::string text = std::to_string(seed) + ":";
  for (const std::size_t each : left_out)
    text += (text.back() == ':' ? "" : ",") + std::to_string(each);
  return text + ":" + std::to_string(clients) + ":" + std::to_string(threads) + ":" +
         std::to_string(operations);
}

bool Plan::apply(const std::string& word) {
  std::istringstream text(word);
  std::string part;
  std::array<std::string, 5> parts;
  for (std::string& each : parts) {
    if (!std::getline(text, each, ':')) return false;
  }
  std::istringstream faults_left_out(parts[1]);
  while (std::getline(faults_left_out, part, ',')) left_out.insert(std::stoul(part));
  clients = std::stoul(parts[2]);
  threads = std::stoul(parts[3]);
  operations = std::stoul(parts[4]);
  return true;
}

}  // namespace simulation
