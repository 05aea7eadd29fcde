// SPDX-License-Identifier: MIT
#include "simulation/scene/redis_told_outcome.hpp"

#include <mortise/once.hpp>

#include <chrono>
#include <system_error>
#include <thread>

namespace simulation {

void RedisToldOutcome::come() {
  begin_client("runner", [this](Process& /*process*/, mortise::Client& client) { run(client); });
  begin_client("told", [this](Process& /*process*/, mortise::Client& client) { wait(client); });
  run_until_gone(30s, "who waits for a key that was run is not answered");
}

// Its waiter has just asked, and would ask next in a second.
void RedisToldOutcome::run(mortise::Client& client) {
  mortise::Once once = client.make_once(the_key, options);
  std::error_code error;
  mortise::Run run = once.begin(error);
  if (!run) return judge_.blame("L2", "a new key is not to be run: " + error.message());
  runs_ = true;
  std::this_thread::sleep_for(to_arrive);
  if (run.succeed(its_result, error).state() != mortise::KeyState::succeeded) {
    return judge_.blame("S3", "a run is not recorded that nobody took");
  }
  recorded_ = room_.world.now();
}

void RedisToldOutcome::wait(mortise::Client& client) {
  until([this] { return runs_; });
  mortise::Once once = client.make_once(the_key, options);
  std::error_code error;
  const mortise::Run run = once.begin(error);
  if (run || error || run.outcome().result() != its_result) {
    return judge_.blame("O1", "who asks for what was done is told otherwise");
  }
  // It may hear of it before its runner does.
  if (recorded_ > Nanos(0) && room_.world.now() - recorded_ > to_arrive) {
    judge_.blame("L2", "who waits for a key hears of its outcome " +
                           std::to_string((room_.world.now() - recorded_).count()) + " ns later");
  }
}

}  // namespace simulation
