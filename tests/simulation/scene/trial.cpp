// SPDX-License-Identifier: MIT
#include "simulation/scene/trial.hpp"

#include <chrono>
#include <exception>
#include <thread>

namespace simulation {
namespace {

using namespace std::chrono_literals;

constexpr Nanos between_looks = 50ms;

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

void Trial::until(const std::function<bool()>& comes_true) {
  while (!comes_true()) std::this_thread::sleep_for(1ms);
}

}  // namespace simulation
