// SPDX-License-Identifier: MIT
#include "simulation/scene/postgres_trial.hpp"

#include <mortise/client.hpp>
#include <mortise/postgres.hpp>

#include <exception>
#include <utility>

namespace simulation {
namespace {

constexpr int longest_trial = 600;  // steps of the world
constexpr Nanos step_of_a_trial = 100ms;

}  // namespace

PostgresTrial::PostgresTrial(Room& room, Judge& judge, const postgres::Options& options,
                             std::string_view mistake)
    : room_(room), judge_(judge), host_(room.network.host("trial")), server_(host_, options) {
  server_.make_mistake(mistake);
  host_.serve(server_);
}

std::string PostgresTrial::url(const std::string& parameters) const {
  return "postgresql://shop@10.0.0." + std::to_string(host_.address() & 0xFFU) +
         ":5432/orders?sslmode=disable" + parameters;
}

void PostgresTrial::begin(const char* name, Life life, const std::string& parameters) {
  Process& process = room_.world.process(name);
  process.clock.offset = std::chrono::hours(1);
  ++here_;
  room_.world.spawn(process, [this, life = std::move(life), parameters, &process] {
    try {
      mortise::Client client(mortise::postgres::backend(url(parameters)));
      life(process, client);
    } catch (const std::exception& error) {
      judge_.blame("exception", error.what());
    }
    --here_;
  });
}

void PostgresTrial::kill(Process& process) {
  room_.world.kill(process);
  --here_;
}

void PostgresTrial::run_until_gone() {
  World& world = room_.world;
  for (int i = 0; i < longest_trial && here_ > 0 && !judge_.verdict(); ++i) {
    world.run(world.now() + step_of_a_trial);
  }
  if (here_ > 0 && !judge_.verdict()) judge_.blame("L7", "a trial's client is not served");
}

}  // namespace simulation
