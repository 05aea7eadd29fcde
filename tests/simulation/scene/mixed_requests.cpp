// SPDX-License-Identifier: MIT
#include "simulation/scene/mixed_requests.hpp"

#include <mortise/backend.hpp>

#include <chrono>
#include <system_error>
#include <thread>
#include <vector>

namespace simulation {

void MixedRequests::come() {
  begin("runner", [this](Process& /*process*/) { run_it(); });
  begin("mixed", [this](Process& /*process*/) { ask(); });
  run_until_gone(30s, "whoever asks for a key that was run is not answered");
}

void MixedRequests::run_it() {
  mortise::Client client(backends_());
  mortise::Once once =
      client.make_once(the_key, {.fingerprint = its_fingerprint, .wait = patience, .lease = lease});
  judge_.called_beside();
  std::error_code error;
  if (once.begin().succeed(its_result, error).state() != mortise::KeyState::succeeded) {
    judge_.blame("S3", "a run is not recorded that nobody took");
  }
  done_ = true;
}

void MixedRequests::ask() {
  mortise::Client client(backends_());
  until([this] { return done_; });
  cut_off(out_of_reach);
  std::vector<std::thread> all;
  // The first one asks. Those with its fingerprint wait behind it at once, and the others when they
  // have looked in vain.
  for (int i = 0; i < callers; ++i) {
    const char* const its = luck_.chance(0.5) ? its_fingerprint : another_fingerprint;
    all.emplace_back([this, &client, its] { ask_as(client, its); });
    std::this_thread::sleep_for(luck_.between(Nanos(0), between_two));
  }
  for (std::thread& each : all) each.join();
}

void MixedRequests::ask_as(mortise::Client& client, const std::string& fingerprint) {
  mortise::Once once =
      client.make_once(the_key, {.fingerprint = fingerprint, .wait = patience, .lease = lease});
  std::error_code error;
  judge_.called_beside();
  mortise::Run run = once.begin(error);
  look_at(run, error, fingerprint);
}

void MixedRequests::look_at(mortise::Run& run, const std::error_code& error,
                            const std::string& fingerprint) {
  const mortise::Outcome& outcome = run.outcome();
  if (fingerprint != its_fingerprint) {
    if (error == mortise::Errc::mismatch) return;
    judge_.blame("O3", "who asks for something else is not told so, but " + error.message());
  } else if (error) {
    judge_.blame("O3", "who asks for what was done is told " + error.message());
  } else if (run || outcome.result() != its_result) {
    judge_.blame("O1", "who asks for what was done is told " +
                           (run ? "to run it" : "\"" + outcome.result() + "\""));
  }
}

}  // namespace simulation
