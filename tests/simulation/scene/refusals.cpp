// SPDX-License-Identifier: MIT
// What a caller is told that did not get the lock, and what it may be told.
#include "simulation/scene/bounds.hpp"
#include "simulation/scene/scene.hpp"

#include <thread>

namespace simulation {

void Scene::refused(const Party& party, std::size_t name, const Request& request,
                    const std::error_code& error, const std::string& text, Calls::Call& call) {
  const Process& process = *party.process;
  if (room_.world.tells)
    tell(process.name(), "not acquired: " + (text.empty() ? error.message() : text));
  if (request.wait == mortise::forever && request.unstopped && error == mortise::Errc::timeout) {
    judge_.blame("L2", process.name() + ": a call without a time limit timed out: " + text);
  }
  if (stand_->expects(error) || (party.closing && error == mortise::Errc::closed)) {
    // An answer to it was spoilt, say.
  } else if (error == mortise::Errc::protocol ||
             (error == mortise::Errc::misconfigured && (request.had_time || !stand_->misleads())) ||
             error == mortise::Errc::denied || error == mortise::Errc::closed) {
    judge_.blame("error", process.name() + ": " + text);
  }
  const bool excused = error != mortise::Errc::unavailable && error != mortise::Errc::in_doubt;
  if (((request.calm && request.wait == mortise::forever) || request.had_time) && !excused) {
    judge_.blame("L7", process.name() + ": " + text + " although all is well");
  }
  if (error != mortise::Errc::timeout) return;
  if (request.wait > Nanos(0)) {
    if (request.unstopped) judge_.gave_up(name, process, request.at);
    call.is_over(rest_of_a_wait);
  } else if (request.unstopped) {
    look_at_refusal(process, name, call);
    call.is_over(stand_->rest_of_a_try());
  }
}

void Scene::look_at_refusal(const Process& process, std::size_t name, const Calls::Call& call) {
  if (!call.alone() || !untroubled() || !judge_.believed(name).empty()) return;
  judge_.blame("try", process.name() + ": name " + std::to_string(name) +
                          " is told as held, and nobody has had or wanted it since before it was "
                          "tried");
}

bool Scene::untroubled() const {
  // Strangers have names as well, and a store keeps some for them; and what a server whose clock
  // was set back, or that has forgotten something, says of a name is outside.
  if (stand_->strangers() > 0 || plan_.steps || plan_.forgets) return false;
  return troubled_until_ == Nanos(0) || room_.world.now() >= clear_from_ ||
         room_.world.now() - troubled_until_ > plan_.lease + longest_debris;
}

}  // namespace simulation
