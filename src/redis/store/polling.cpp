// SPDX-License-Identifier: MIT
#include "redis/store/polling.hpp"

#include "redis/topology/topology.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace mortise::redis {

void Parts::ask_in_turn(const std::shared_ptr<Acquisition>& waiter) const {
  const Instant before = turns.due();
  remote::AskTurns::Turn turn = turns.take_turn(waiter, now());
  if (turn.is_left_out) {
    if (turns.due() < before) polling->sooner();
    return;
  }
  if (turn.together.empty()) return exchange->ask(waiter);
  exchange->submit(Call::made(Call::Kind::ask, std::make_shared<Places>(std::move(turn.together))));
}

void Polling::attach_all() {
  parts_.topology->server_of(std::string_view()).attach();
  parts_.topology->begin();
}

void Polling::attach(Server& server) {
  if (server.is_attached()) return;
  unless_closed([&] { server.attach(); });
}

void Polling::detach(Server& server) noexcept {
  unless_closed([&] { server.detach(); });
}

void Polling::open_inbox(Server& server, const AttemptId& of_client) {
  if (server.inbox().is_open()) return;
  unless_closed([&] {
    if (server.inbox().is_open()) return;
    server.inbox().open(parts_.requests.inbox(of_client));  // may throw: the next call tries again
  });
}

void Polling::add_sources(std::vector<Source*>& sources) {
  for (std::size_t i = 0; Server* const server = parts_.topology->nth(i); ++i) {
    sources.push_back(&server->commands());
  }
}

Instant Polling::due() const noexcept {
  const Instant due =
      std::min({parts_.turns.due(), parts_.exchange->due(), parts_.topology->due()});
  return parts_.redisson == nullptr ? due : std::min(due, parts_.redisson->due());
}

void Polling::ready(short /*events*/, Instant now) {
  parts_.exchange->tick(now);
  if (parts_.redisson != nullptr) parts_.redisson->look(now);
  parts_.topology->look(now);
  for (const auto& operation : parts_.turns.take_due(now)) parts_.exchange->ask(operation);
  if (const auto waiter = parts_.turns.take_left_out(now)) parts_.ask_in_turn(waiter);
}

}  // namespace mortise::redis
