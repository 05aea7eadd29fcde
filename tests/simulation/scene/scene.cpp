// SPDX-License-Identifier: MIT
#include "simulation/scene/scene.hpp"

#include <mortise/guard.hpp>

#include "core/figures.hpp"
#include "simulation/scene/bounds.hpp"
#include "simulation/scene/redisson.hpp"
#include "simulation/scene/time_taken.hpp"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <stop_token>
#include <string_view>
#include <thread>
#include <utility>

namespace simulation {
namespace {

constexpr std::uint64_t scene_stream = 7;
constexpr std::uint64_t worker_stream = 8;
constexpr std::size_t calm_operations = 6;
constexpr std::size_t operations_of_a_crowd = 400;  // most of them take a few milliseconds

// Clients have nothing to do for so long, before the next one begins, that what they had for their
// work is closed, and that nobody is known to wait any more.
constexpr Nanos round_in_the_clear = 40s;

// How often clocks are set back in a run, and by how much at most.
constexpr int steps = 3;
constexpr Nanos longest_step = 5s;

}  // namespace

Scene::Scene(Plan plan, bool tells)
    : plan_(std::move(plan)),
      room_(plan_.seed * 8 + static_cast<std::uint64_t>(plan_.kind)),
      judge_(room_, !plan_.steps && !plan_.forgets, plan_.lease),
      keys_(room_, judge_, plan_.keep),
      calls_(room_.world, plan_.lease + longest_debris),
      left_(plan_.clients, std::vector<std::size_t>(plan_.threads, plan_.operations)),
      calm_left_(plan_.clients, plan_.threads * calm_operations),
      luck_(Random::of({plan_.seed, scene_stream})) {
  room_.world.tells = tells;
  room_.world.tells_bytes = tells && std::getenv("MORTISE_SIMULATION_BYTES") != nullptr;
  Weather& weather = room_.network.weather;
  weather.latency_least = luck_.spread(Nanos(5'000), Nanos(100'000));
  weather.latency_most = weather.latency_least * (1 + static_cast<int>(luck_.below(5)));
  weather.jitter = luck_.chance(0.5) ? Nanos(0) : luck_.spread(Nanos(1'000), Nanos(100'000));
  if (luck_.chance(0.2)) weather.window = 200 + luck_.below(2'000);
  if (luck_.chance(0.25)) room_.world.spurious = 0.02;
  usual_.latency = luck_.spread(Nanos(1'000), Nanos(20'000));
  stand_ = make_stand(plan_, room_);
  stand_->taken = [this](std::size_t name, std::uint64_t grant, bool shared, Nanos bound) {
    judge_.taken(name, grant, shared, bound);
  };
  stand_->keep = [this](const Process& process, Nanos until) {
    keeps_[&process] = std::min(until, plan_.storm);
  };
  stand_->judge = &judge_;
  if (plan_.kind == Kind::memory) judge_.expect_no_early_end();
  if (plan_.readers > 0) {
    judge_.expect_readers(stand_->reads_on_by_one_token());
    // Whoever joins the readers of its own client comes before whoever waits elsewhere.
    judge_.expect_no_order();
  }
  for (const auto& host : room_.network.hosts()) {
    host->clock.ppm = static_cast<std::int64_t>(luck_.below(801)) - 400;
  }
}

// Threads of killed processes are still on their stacks, inside the library: nothing of theirs may
// be destroyed. The process that made this run ends soon.
Scene::~Scene() {
  for (auto& party : parties_) static_cast<void>(party.release());
}

void Scene::begin_party(std::size_t index) {
  ++births_;
  auto party = std::make_unique<Party>();
  party->index = index;
  party->process = &room_.world.process(
      "client " + std::to_string(index) +
      (parties_.size() >= plan_.clients ? "'" + std::to_string(parties_.size()) : std::string()));
  Process& process = *party->process;
  process.clock.offset = std::chrono::hours(1);
  // The memory backend's clients share a process, and so its clock.
  if (plan_.kind != Kind::memory) {
    process.clock.offset += Nanos(luck_.below(1'000'000'000));
    process.clock.ppm = static_cast<std::int64_t>(luck_.below(801)) - 400;
  }
  process.wall = std::chrono::hours(24 * 365 * 50);
  process.schedule = usual_;
  Party& made = *party;
  parties_.push_back(std::move(party));
  room_.world.spawn(process, [this, &made] { live(made); });
}

void Scene::step_clocks() {
  for (int i = 0; i < steps; ++i) {
    const auto& hosts = room_.network.hosts();
    Host& host = *hosts[luck_.below(hosts.size())];
    const Nanos step = luck_.spread(Nanos(1'000'000), longest_step);
    room_.world.at(luck_.between(Nanos(0), plan_.storm), [this, &host, step] {
      tell(host.name(), "its clock is set back by " + std::to_string(step.count()) + " ns");
      host.step_wall_clock(-step);
    });
  }
}

void Scene::begin_stranger(std::size_t index) {
  Process& process = room_.world.process("redisson " + std::to_string(index));
  process.clock.offset = std::chrono::hours(1);
  process.schedule = usual_;
  room_.world.spawn(process, [this, &process] {
    Redisson stranger(
        room_, judge_, process, plan_.names,
        {.goes_on = [this] { return !calm_; },
         .quiet = [this] { return room_.world.now() - troubled_until_; },
         .releases_told = [this](std::size_t name) { return stand_->releases_told(name); },
         .taken = [this](std::size_t name) -> std::uint64_t& { return redissons_locks_[name]; }});
    stranger.live();
  });
}

void Scene::live(Party& party) {
  try {
    mortise::ClientOptions options;
    if (plan_.seed % 4 == 1) options.turn = 0ms;
    if (plan_.seed % 4 == 2) options.turn = 50ms;
    if (stand_->tells_truth()) options.observer = watch_losses(*party.process);
    if (stand_->told_at().told > 0ns) {
      options.observer = party.listener = std::make_shared<Listener>();
    }
    // Beyond every lease: then only what a hold has left keeps it from being passed on.
    if (plan_.seed % 8 == 3 || plan_.seed % 8 == 4) options.turn = 60s;
    party.client = std::make_unique<mortise::Client>(stand_->backend(party.index), options);
    // With PostgreSQL who finds the row locked by others' commits is not in the queue yet.
    if (plan_.kind == Kind::postgres ||
        party.client->capabilities().fair != mortise::Support::yes) {
      judge_.expect_no_order();
    }
    std::vector<std::thread> threads;
    --births_;
    const auto start = [&](std::size_t many, void (Scene::*activity)(Party&, std::size_t)) {
      for (std::size_t i = 0; i < many; ++i) {
        ++working_;
        ++party.working;
        threads.emplace_back([this, &party, i, activity] {
          (this->*activity)(party, i);
          --party.working;
          --working_;
        });
      }
    };
    start(plan_.threads, &Scene::work);
    start(has_keys() ? plan_.runners : 0, &Scene::work_with_keys);
    start(plan_.porters, &Scene::work_with_permits);
    for (std::thread& thread : threads) thread.join();
    while (!closing_) std::this_thread::sleep_for(1s);
    const Nanos began = room_.world.now();
    const Nanos stolen = room_.world.stolen(*party.process);
    party.client.reset();
    const Nanos took = room_.world.now() - began - (room_.world.stolen(*party.process) - stolen);
    if (took > longest_close)
      judge_.blame("L4", "closing took " + std::to_string(took.count()) + " ns");
    party.closed = true;
  } catch (const std::exception& error) {
    judge_.blame("exception", error.what());
  }
}

void Scene::work(Party& party, std::size_t thread) {
  try {
    std::size_t& left = left_[party.index][thread];
    Random random = Random::of({plan_.seed, worker_stream, party.index, thread, left});
    while (left > 0 && !calm_ && !party.closing) {
      --left;
      operate(party, random, false);
      if (plan_.suspends && random.chance(0.1)) ask(party, random);
      if (plan_.longest_pause.count() > 0) {
        std::this_thread::sleep_for(random.spread(Nanos(1'000), plan_.longest_pause));
      }
    }
    left = party.closing ? left : 0;
    while (!calm_ && !party.closing) std::this_thread::sleep_for(20ms);
    if (party.closing) return;
    std::this_thread::sleep_for(random.between(Nanos(0), 2s));
    const std::size_t operations = plan_.crowd ? operations_of_a_crowd : calm_operations;
    for (std::size_t i = 0; i < operations; ++i) operate(party, random, true);
    const std::size_t more = stand_->operations_in_the_clear();
    const std::size_t rounds = more > 0 ? stand_->rounds_in_the_clear() : 0;
    for (std::size_t round = 0; round < rounds; ++round) {
      const Nanos from = clear_from_ + round_in_the_clear * static_cast<int>(round);
      while (room_.world.now() < from) std::this_thread::sleep_for(from - room_.world.now() + 1ms);
      for (std::size_t i = 0; i < more; ++i) operate(party, random, true);
    }
  } catch (const std::exception& error) {
    judge_.blame("exception", error.what());
  }
}

void Scene::ask(Party& party, Random& random) {
  const Nanos limit = random.spread(1ms, 3s);
  const TimeTaken taken(room_.world, *party.process);
  try {
    party.client->check(limit);
  } catch (const mortise::Error& failure) {
    tell(party.process->name(), failure.what());
  }
  if (taken.beyond(limit) > grace) {
    judge_.blame("L3", party.process->name() + ": check() with " + std::to_string(limit.count()) +
                           " ns went on for " + std::to_string(taken.beyond(limit).count()) +
                           " more");
  }
}

void Scene::operate(Party& party, Random& random, bool calm) {
  ++operations_;
  const std::size_t name = random.below(plan_.names);
  const Judge::Interest interest(judge_, name, *party.process);
  std::optional<Calls::Call> call(std::in_place, calls_, name, *party.process);
  const bool reads = plan_.readers > 0 && random.chance(plan_.readers) &&
                     party.client->capabilities().shared_mode == mortise::Support::yes;
  mortise::Lock lock = party.client->make_lock(
      lock_name(name), {.lease = std::chrono::duration_cast<std::chrono::milliseconds>(plan_.lease),
                        .renew = plan_.renew,
                        .label = "client",
                        .mode = reads ? mortise::Mode::shared : mortise::Mode::exclusive});
  mortise::AcquireOptions options;
  std::stop_source stop;
  Nanos stopped_at = never;
  struct Stopper : std::thread {
    using std::thread::operator=;
    ~Stopper() {
      if (joinable()) join();
    }
  } stopper;
  if (plan_.crowd && random.chance(0.97)) {
    options.wait = random.spread(Nanos(50'000), Nanos(5'000'000));
  } else if (!calm && random.chance(plan_.tries)) {
    options.wait = Nanos(0);
  } else if (calm ? random.chance(0.3) : random.chance(plan_.timed)) {
    // In the calm, too: who leaves a queue must leave nothing that keeps others waiting.
    options.wait = random.spread(Nanos(50'000), 3s);
  }
  const bool stops = !calm && random.chance(plan_.stopped);
  if (stops) {
    options.stop = stop.get_token();
    stopper = std::thread([this, &stop, &stopped_at, after = random.spread(Nanos(10'000), 2s)] {
      std::this_thread::sleep_for(after);
      stopped_at = room_.world.now();
      stop.request_stop();
    });
  }
  const Process& process = *party.process;
  const TimeTaken taken(room_.world, process);
  const bool waits = options.wait > Nanos(0) && !stops;
  const Nanos asked = room_.world.now();
  const bool had_time = fair() && options.wait >= longest_fair_call;
  if (waits) judge_.waits(name, process, true, options.wait == mortise::forever);
  if (room_.world.tells) {
    tell(process.name(), "asks for " + lock_name(name) + ", waits " +
                             std::to_string(options.wait.count()) + " ns" +
                             (stops ? ", stops" : ""));
  }
  std::error_code error;
  std::string text;
  bool got = false;
  try {
    got = lock.acquire(options);
    if (!got) error = mortise::Errc::timeout;
  } catch (const mortise::Error& failure) {
    error = failure.code();
    text = failure.what();
  }
  if (waits) judge_.waits(name, process, false, options.wait == mortise::forever);
  const Nanos limit = options.wait == mortise::forever ? never
                      : options.wait > Nanos(0)        ? Nanos(options.wait)
                                                : mortise::core::command_timeout(plan_.lease);
  const Nanos beyond = taken.beyond(limit);
  if (waits && beyond >= Nanos(0)) count_over_run(asked, beyond);
  if (beyond > grace) {
    judge_.blame("L3", process.name() + ": a call with " + std::to_string(limit.count()) +
                           " ns went on for " + std::to_string(beyond.count()) + " more");
  }
  if (const Nanos went_on = taken.since(stopped_at); stopped_at != never && went_on > grace) {
    judge_.blame("L3", process.name() + ": a call goes on for " + std::to_string(went_on.count()) +
                           " ns after it was stopped");
  }
  if (const auto broken = stand_->ended(process, asked, error)) {
    judge_.blame(broken->promise, broken->words + ": " + text);
  }
  if (got) {
    // A callback of the stop token may keep the call after it has looked at its hold.
    hold(party, name, lock, random, calm, {asked, !stops, *call, reads});
  } else {
    refused(party, name, {asked, options.wait, !stops, calm, had_time}, error, text, *call);
    call.reset();
    std::this_thread::sleep_for(random.spread(Nanos(10'000), 10ms));
  }
}

bool Scene::all_done() const { return working_ == 0 && births_ == 0; }

bool Scene::run_until_done(Nanos limit) {
  World& world = room_.world;
  while (!all_done() && !judge_.verdict() && world.now() < limit) world.run(world.now() + 100ms);
  return all_done();
}

Outcome Scene::run() {
  World& world = room_.world;
  for (std::size_t i = 0; i < plan_.clients; ++i) begin_party(i);
  for (std::size_t i = 0; i < plan_.faults.size(); ++i) {
    if (plan_.left_out.contains(i)) continue;
    const Fault& fault = plan_.faults[i];
    world.at(fault.at, [this, &fault] { befall(fault); });
  }
  for (std::size_t i = 0; i < stand_->strangers(); ++i) begin_stranger(i);
  if (plan_.steps) step_clocks();
  look_every_second();
  world.run(plan_.storm);
  if (!judge_.verdict()) {
    calm_down();
    // The longest that anything left over may keep a name, and then one fallback period.
    const Nanos dead = stand_->longest_hold_of_the_dead(plan_);
    // Where nobody died nothing may be left that has to end by itself.
    const bool died = std::any_of(parties_.begin(), parties_.end(), [](const auto& party) {
      return party->process->dead() || party->closing;
    });
    const bool has_to_end = died || stand_->holds_came_back() || plan_.kind == Kind::zookeeper;
    const Nanos rest = has_to_end ? dead + 6s : std::min<Nanos>(dead + 6s, stand_->recovery());
    // A lease lasts longer by as much as a clock was set back.
    clear_from_ = world.now() + rest + (plan_.steps ? longest_step * steps : 0s);
    // The end of a lease, of which nobody is told, comes later by as much as a clock was set back;
    // and the server counts a lease from when it was asked, which may have been late.
    judge_.expect_service(
        clear_from_, [this] { return stand_->hand_over(); },
        1'500ms + (plan_.steps ? longest_step * steps : 0s) + stand_->lateness());
    world.at(clear_from_, [this] {
      stand_->clear();
      calls_.over_by(room_.world.now() + rest_of_a_wait);
      if (plan_.seed % 3 == 0) have_a_holder_die();
    });
    const std::size_t rounds = stand_->rounds_in_the_clear();
    for (std::size_t round = 1; round < rounds; ++round) {
      world.at(clear_from_ + round_in_the_clear * static_cast<int>(round),
               [this] { stand_->clear(); });
    }
    const std::size_t holds =
        plan_.clients * plan_.threads * (10 + 2 * rounds * stand_->operations_in_the_clear());
    const Nanos patience = dead * 3 + 60s + round_in_the_clear * static_cast<int>(rounds) +
                           plan_.longest_hold * static_cast<int>(holds);
    if (!run_until_done(world.now() + patience) && !judge_.verdict()) {
      judge_.blame("L7", std::to_string(working_) + " threads are not served after the storm");
    }
  }
  if (!judge_.verdict()) stand_->last_trial();
  if (!judge_.verdict() && plan_.seed % 4 == 1) look_at_renewal();
  if (!judge_.verdict()) look_for_debris();
  if (!judge_.verdict()) {
    closing_ = true;
    world.run(world.now() + 4s);
    // Before they end by themselves.
    if (const std::size_t left = stand_->open_sessions(); left > 0 && !judge_.verdict()) {
      judge_.blame("L7", std::to_string(left) + " sessions are open after close()");
    }
    world.run(world.now() + 4s);
    for (const auto& party : parties_) {
      if (!party->process->dead() && !party->closed && !judge_.verdict()) {
        judge_.blame("L4", party->process->name() + ": the client does not close");
      }
      const std::size_t open = room_.network.descriptors.count(*party->process);
      if (party->closed && open > 0 && !judge_.verdict()) {
        judge_.blame("L7", party->process->name() + ": " + std::to_string(open) +
                               " descriptors are open after close()");
      }
    }
  }
  outcome_.verdict = judge_.verdict();
  outcome_.grants = judge_.grants();
  outcome_.events = world.events();
  outcome_.requests = stand_->requests();
  outcome_.time = world.now();
  outcome_.story = std::move(world.story);
  return std::move(outcome_);
}

}  // namespace simulation
