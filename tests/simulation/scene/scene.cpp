// SPDX-License-Identifier: MIT
#include "simulation/scene/scene.hpp"

#include <mortise/guard.hpp>

#include "core/figures.hpp"
#include "simulation/scene/redisson.hpp"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <stop_token>
#include <thread>
#include <utility>

namespace simulation {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t scene_stream = 7;
constexpr std::uint64_t worker_stream = 8;
constexpr std::size_t calm_operations = 6;

// How often clocks are set back in a run, and by how much at most.
constexpr int steps = 3;
constexpr Nanos longest_step = 5s;

/// What the contract gives a timed call beyond its time (L3), and the simulation's own latency.
constexpr Nanos grace = 50ms;

std::string lock_name(std::size_t number) { return "name/" + std::to_string(number); }

}  // namespace

Scene::Scene(Plan plan, bool tells)
    : plan_(std::move(plan)),
      room_(plan_.seed * 8 + static_cast<std::uint64_t>(plan_.kind)),
      judge_(room_, !plan_.steps),
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
  usual_.latency = luck_.spread(Nanos(1'000), Nanos(20'000));
  stand_ = make_stand(plan_, room_);
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
    Redisson stranger(room_, judge_, process, plan_.names, [this] { return !calm_; });
    stranger.live();
  });
}

void Scene::live(Party& party) {
  try {
    mortise::ClientOptions options;
    if (plan_.seed % 4 == 1) options.turn = 0ms;
    if (plan_.seed % 4 == 2) options.turn = 50ms;
    party.client = std::make_unique<mortise::Client>(stand_->backend(party.index), options);
    std::vector<std::thread> threads;
    --births_;
    for (std::size_t i = 0; i < plan_.threads; ++i) {
      ++working_;
      ++party.working;
      threads.emplace_back([this, &party, i] {
        work(party, i);
        --party.working;
        --working_;
      });
    }
    for (std::thread& thread : threads) thread.join();
    while (!closing_) std::this_thread::sleep_for(100ms);
    const Nanos began = room_.world.now();
    const Nanos stolen = room_.world.stolen(*party.process);
    party.client.reset();
    const Nanos took = room_.world.now() - began - (room_.world.stolen(*party.process) - stolen);
    if (took > 3s) judge_.blame("L4", "closing took " + std::to_string(took.count()) + " ns");
    party.closed = true;
  } catch (const std::exception& error) {
    judge_.blame("exception", error.what());
  }
}

void Scene::work(Party& party, std::size_t thread) {
  try {
    std::size_t& left = left_[party.index][thread];
    Random random = Random::of({plan_.seed, worker_stream, party.index, thread, left});
    while (left > 0 && !calm_) {
      --left;
      operate(party, random, false);
      if (plan_.longest_pause.count() > 0) {
        std::this_thread::sleep_for(random.spread(Nanos(1'000), plan_.longest_pause));
      }
    }
    left = 0;
    while (!calm_) std::this_thread::sleep_for(20ms);
    std::this_thread::sleep_for(random.between(Nanos(0), 2s));
    for (std::size_t i = 0; i < calm_operations; ++i) operate(party, random, true);
  } catch (const std::exception& error) {
    judge_.blame("exception", error.what());
  }
}

void Scene::operate(Party& party, Random& random, bool calm) {
  ++operations_;
  const std::size_t name = random.below(plan_.names);
  mortise::Lock lock = party.client->lock(
      lock_name(name), {.lease = std::chrono::duration_cast<std::chrono::milliseconds>(plan_.lease),
                        .renew = plan_.renew,
                        .label = "client"});
  mortise::AcquireOptions options;
  std::stop_source stop;
  std::thread stopper;
  if (!calm && random.chance(plan_.tries)) {
    options.wait = Nanos(0);
  } else if (calm ? random.chance(0.3) : random.chance(plan_.timed)) {
    // In the calm, too: who leaves a queue must leave nothing that keeps others waiting.
    options.wait = random.spread(Nanos(50'000), 3s);
  }
  const bool stops = !calm && random.chance(plan_.stopped);
  if (stops) {
    options.stop = stop.get_token();
    stopper = std::thread([&stop, after = random.spread(Nanos(10'000), 2s)] {
      std::this_thread::sleep_for(after);
      stop.request_stop();
    });
  }
  const Process& process = *party.process;
  const Nanos began = process.boot_time();
  const Nanos stolen = room_.world.stolen(process);
  const bool waits = options.wait > Nanos(0) && !stops;
  const Nanos asked = room_.world.now();
  if (waits) judge_.waits(name, process, true);
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
  } catch (const mortise::LockError& failure) {
    error = failure.code();
    text = failure.what();
  }
  if (waits) judge_.waits(name, process, false);
  const Nanos took = process.boot_time() - began - (room_.world.stolen(process) - stolen);
  const Nanos limit = options.wait == mortise::forever ? never - 1h
                      : options.wait > Nanos(0)        ? options.wait
                                                : mortise::core::command_timeout(plan_.lease);
  if (took > limit + grace) {
    judge_.blame("L3", process.name() + ": a call with " + std::to_string(limit.count()) +
                           " ns took " + std::to_string(took.count()));
  }
  if (got) {
    hold(party, name, lock, random, calm, {asked, stolen});
  } else {
    if (room_.world.tells)
      tell(process.name(), "not acquired: " + (text.empty() ? error.message() : text));
    if (error == mortise::Errc::protocol || error == mortise::Errc::misconfigured ||
        error == mortise::Errc::denied || error == mortise::Errc::closed) {
      judge_.blame("error", process.name() + ": " + text);
    }
    if (calm && options.wait == mortise::forever && error == mortise::Errc::unavailable) {
      judge_.blame("L7", process.name() + ": " + text + " although all is well");
    }
    std::this_thread::sleep_for(random.spread(Nanos(10'000), 10ms));
  }
  if (stopper.joinable()) stopper.join();
}

void Scene::hold(Party& party, std::size_t name, mortise::Lock& lock, Random& random, bool calm,
                 Asked asked) {
  const Process& process = *party.process;
  const mortise::Owner owner = mortise::Owner::this_thread();
  const mortise::Token token = lock.token(owner);
  const auto number = judge_.granted(
      name,
      {.process = &process,
       .valid = [&lock, owner,
                 token] { return lock.valid_for(owner) > Nanos(0) && lock.token(owner) == token; },
       .token = token,
       .asked_at = asked.at});
  if (room_.world.tells) {
    tell(process.name(), "holds " + lock_name(name) + ", token " + std::to_string(token.value()));
  }
  // S8: whoever was not stopped on the way is told of nothing that is over.
  if (!judge_.still_holds(name, number) && room_.world.stolen(process) == asked.stolen) {
    judge_.blame("S8", process.name() + ": a grant that is over when it is told");
  }
  const bool again = random.chance(plan_.reentered);
  bool entered = false;
  if (again) {
    std::error_code error;
    entered = lock.acquire({.wait = Nanos(0)}, error);
  }
  const std::stop_token at_a_loss = lock.lost(owner);
  // Kept for ever, or its destructor would wait for the call: callbacks may outlive what they tell.
  if (plan_.blocks && random.chance(0.3)) {
    static_cast<void>(new std::stop_callback(
        at_a_loss, +[] { std::this_thread::sleep_for(5s); }));
  }
  const Nanos longest =
      !calm && random.chance(plan_.outlived) ? plan_.lease + plan_.lease / 2 : plan_.longest_hold;
  if (longest > 30us || random.chance(0.3)) {
    std::this_thread::sleep_for(random.spread(Nanos(1'000), longest));
  }
  const std::stop_token lost = lock.lost(owner);
  const bool held = judge_.still_holds(name, number);
  if (!held && !lost.stop_requested()) await_the_loss(process, lost);
  if (!held) {
    std::error_code refused;
    if (lock.acquire({.wait = Nanos(0)}, refused)) {
      judge_.blame("S7", process.name() + ": a lost hold was entered again");
    }
  }
  if (held && lost.stop_requested()) {
    judge_.blame("S6", process.name() + ": lost, and valid all the same");
  }
  if (entered) {
    std::error_code error;
    lock.unlock(error, owner);
    judge_.still_holds(name, number);
  }
  judge_.releasing(name, number);
  const Nanos began = process.boot_time();
  const Nanos stolen = room_.world.stolen(process);
  std::error_code error;
  const mortise::Released released = lock.release(error, owner);
  const Nanos took = process.boot_time() - began - (room_.world.stolen(process) - stolen);
  if (took > mortise::core::command_timeout(plan_.lease) + grace) {
    judge_.blame("L4", process.name() + ": release took " + std::to_string(took.count()) + " ns");
  }
  if (error) judge_.blame("S7", process.name() + ": release says " + error.message());
  if (calm && held && released == mortise::Released::was_lost) {
    judge_.blame("S3", process.name() + ": a hold that stood is said to be lost");
  }
  if (room_.world.tells) {
    tell(process.name(), std::string("released ") + lock_name(name) + ": " +
                             (released == mortise::Released::released   ? "released"
                              : released == mortise::Released::was_lost ? "was lost"
                                                                        : "unknown"));
  }
}

// S6: within 50 ms of the deadline, or of going on.
void Scene::await_the_loss(const Process& process, const std::stop_token& lost) {
  for (;;) {
    const Nanos stolen = room_.world.stolen(process);
    std::this_thread::sleep_for(grace);
    if (lost.stop_requested()) return;
    if (room_.world.stolen(process) == stolen) break;
  }
  judge_.blame("S6", process.name() + ": a hold is over, and lost() says nothing");
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
    const bool died = std::any_of(parties_.begin(), parties_.end(),
                                  [](const auto& party) { return party->process->dead(); });
    const Nanos rest = died || plan_.kind == Kind::zookeeper ? dead : std::min<Nanos>(dead, 4s);
    // A lease lasts longer by as much as a clock was set back.
    judge_.expect_service(world.now() + rest + 6s + (plan_.steps ? longest_step * steps : 0s),
                          stand_->hand_over(), 1'500ms);
    const Nanos patience =
        dead * 2 + 60s + plan_.longest_hold * static_cast<int>(plan_.clients * plan_.threads * 10);
    if (!run_until_done(world.now() + patience) && !judge_.verdict()) {
      judge_.blame("L7", std::to_string(working_) + " threads are not served after the storm");
    }
  }
  if (!judge_.verdict()) look_for_debris();
  if (!judge_.verdict()) {
    closing_ = true;
    world.run(world.now() + 8s);
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
