// SPDX-License-Identifier: MIT
#include "simulation/scene/trial.hpp"

#include <chrono>
#include <exception>

namespace simulation {
namespace {

constexpr Nanos between_looks = 50ms;
constexpr Nanos between_checks = 1ms;

}  // namespace

Process& Trial::begin(const char* name, std::function<void(Process&)> life) {
  Process& process = room_.world.process(name);
  process.clock.offset = std::chrono::hours(1);
  ++here_;
  room_.world.spawn(process, [this, &process, life = std::move(life)] {
    try {
      life(process);
    } catch (const std::exception& error) {
      judge_.blame("exception", error.what());
    }
    --here_;
  });
  return process;
}

void Trial::run_until_gone(Nanos patience, const char* words) {
  World& world = room_.world;
  const Nanos end = world.now() + patience;
  while (here_ > 0 && world.now() < end && !judge_.verdict()) {
    world.run(world.now() + between_looks);
  }
  if (here_ > 0 && !judge_.verdict()) judge_.blame("L7", words);
}

// The world looks in its place: a thread that wakes a thousand times a second costs more.
void Trial::until(const std::function<bool()>& comes_true) {
  World& world = *World::current();
  Thread& thread = *World::running();
  const std::function<void()> look = [&] {
    if (thread.process().dead()) return;
    if (comes_true()) return world.wake(thread);
    world.after(between_checks, [&look] { look(); });
  };
  if (comes_true()) return;
  world.after(between_checks, [&look] { look(); });
  world.sleep(never);
}

}  // namespace simulation
