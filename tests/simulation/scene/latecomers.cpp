// SPDX-License-Identifier: MIT
#include "simulation/scene/latecomers.hpp"

#include <mortise/backend.hpp>

#include <chrono>
#include <system_error>
#include <thread>
#include <vector>

namespace simulation {

void Latecomers::come() {
  begin("runner", [this](Process& /*process*/) { run_twice(); });
  begin("askers", [this](Process& /*process*/) { ask(); });
  run_until_gone(60s, "whoever asks for a key that was run twice is not answered");
}

void Latecomers::run(mortise::Once& once, const char* result) {
  std::error_code error;
  judge_.called_beside();
  if (once.begin().succeed(result, error).state() != mortise::KeyState::succeeded) {
    judge_.blame("S3", "a run is not recorded that nobody took");
  }
}

void Latecomers::run_twice() {
  mortise::Client client(backends_());
  mortise::Once once = client.make_once(the_key, options);
  run(once, first_result);
  first_done_ = true;
  until([this] { return answer_is_late_; });
  if (!once.forget()) judge_.blame("O3", "nothing is remembered of a key that was just run");
  run(once, second_result);
  second_done_ = true;
}

// The question has arrived when the network is well again; the answer to it, and to nothing else,
// is on its way.
void Latecomers::ask() {
  mortise::Client client(backends_());
  until([this] { return first_done_; });
  delay(on_its_way);
  std::vector<std::thread> all;
  all.emplace_back([this, &client] {
    if (told(client) != first_result) judge_.blame("O1", "a question that came first is late");
  });
  std::this_thread::sleep_for(on_its_way + luck_.between(10ms, 50ms));
  delay(Nanos(0));
  answer_is_late_ = true;
  until([this] { return second_done_; });
  for (int i = 0; i < latecomers; ++i) {
    all.emplace_back([this, &client] {
      const std::string words = told(client);
      if (words != second_result) {
        judge_.blame("O1", "who asks for what was recorded as 'second' is told '" + words + "'");
      }
    });
    std::this_thread::sleep_for(luck_.between(Nanos(0), 10ms));
  }
  for (std::thread& each : all) each.join();
}

std::string Latecomers::told(mortise::Client& client) {
  mortise::Once once = client.make_once(the_key, options);
  std::error_code error;
  judge_.called_beside();
  mortise::Run run = once.begin(error);
  if (error) return error.message();
  return run ? "run it" : run.outcome().result();
}

}  // namespace simulation
