// SPDX-License-Identifier: MIT
// What the threads of a client do with a semaphore, and what each tells the judge of its permits.
#include "core/figures.hpp"
#include "simulation/scene/bounds.hpp"
#include "simulation/scene/gate.hpp"
#include "simulation/scene/scene.hpp"
#include "simulation/scene/time_taken.hpp"

#include <algorithm>
#include <exception>
#include <string>
#include <thread>

namespace simulation {
namespace {

constexpr std::uint64_t permit_stream = 11;
constexpr std::size_t calm_permits = 6;

}  // namespace

void Scene::work_with_permits(Party& party, std::size_t thread) {
  try {
    Random random = Random::of({plan_.seed, permit_stream, party.index, thread,
                                static_cast<std::uint64_t>(births_),
                                static_cast<std::uint64_t>(room_.world.now().count())});
    while (!calm_ && !party.closing) {
      take_permit(party, random, false);
      std::this_thread::sleep_for(random.spread(10us, std::max<Nanos>(plan_.storm / 50, 20ms)));
    }
    std::this_thread::sleep_for(random.between(Nanos(0), 2s));
    for (std::size_t i = 0; i < calm_permits && !party.closing; ++i) {
      take_permit(party, random, true);
    }
  } catch (const std::exception& error) {
    judge_.blame("exception", error.what());
  }
}

void Scene::take_permit(Party& party, Random& random, bool calm) {
  ++operations_;
  const Process& process = *party.process;
  mortise::AcquireOptions options;
  options.owner = random.chance(0.5) ? mortise::Owner::unique() : mortise::Owner::this_thread();
  if (!calm && random.chance(plan_.tries)) {
    options.wait = Nanos(0);
  } else if (random.chance(0.3)) {
    options.wait = random.spread(Nanos(50'000), 3s);
  }
  try {
    mortise::Semaphore semaphore = party.client->make_semaphore(
        gate, plan_.permits,
        {.lease = std::chrono::duration_cast<std::chrono::milliseconds>(plan_.lease),
         .label = "client"});
    const Nanos asked = room_.world.now();
    const TimeTaken taken(room_.world, process);
    if (room_.world.tells) tell(process.name(), std::string("asks for a permit of ") + gate);
    std::error_code error;
    mortise::Permit permit = semaphore.acquire(options, error);
    if (options.wait > Nanos(0) && options.wait != mortise::forever) {
      if (const Nanos beyond = taken.beyond(options.wait); beyond > grace) {
        judge_.blame("L3", process.name() + ": for a permit with " +
                               std::to_string(options.wait.count()) + " ns went on for " +
                               std::to_string(beyond.count()) + " more");
      }
    }
    if (permit) return hold_permit(process, permit, asked, random);
    if (room_.world.tells) tell(process.name(), "no permit: " + permit.error_text());
    if (error == mortise::Errc::timeout && options.wait > Nanos(0)) {
      judge_.gave_up(name_of_gate, process, asked);
    } else if (error != mortise::Errc::timeout && error != mortise::Errc::closed &&
               !mortise::is_retryable(error) && !stand_->expects(error)) {
      judge_.blame("L4", process.name() + ": for a permit says " + permit.error_text());
    }
  } catch (const mortise::Error& failure) {
    if (failure.errc() != mortise::Errc::closed) throw;
  }
}

void Scene::hold_permit(const Process& process, mortise::Permit& permit, Nanos asked,
                        Random& random) {
  const auto hold = judge_.granted(name_of_gate, {.process = &process,
                                                  .left = [&] { return Nanos(permit.valid_for()); },
                                                  .token = permit.token(),
                                                  .others = plan_.permits - 1,
                                                  .asked_at = asked});
  if (room_.world.tells) {
    tell(process.name(), "has a permit, token " + std::to_string(permit.token().value()));
  }
  const Nanos longest =
      fair() ? std::min(plan_.longest_hold, longest_fair_hold) : plan_.longest_hold;
  const Nanos time = random.chance(0.05) && !calm_ ? plan_.lease + random.between(Nanos(0), 1s)
                                                   : random.spread(Nanos(1'000), longest);
  for (int i = 0; i < 4; ++i) {
    std::this_thread::sleep_for(time / 4);
    judge_.still_holds(name_of_gate, hold);
  }
  judge_.releasing(name_of_gate, hold);
  permit.unlock();
}

}  // namespace simulation
