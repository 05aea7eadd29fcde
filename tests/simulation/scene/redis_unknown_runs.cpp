// SPDX-License-Identifier: MIT
#include "simulation/scene/redis_unknown_runs.hpp"

#include <mortise/redis.hpp>

#include <chrono>
#include <system_error>
#include <thread>

namespace simulation {

void RedisUnknownRuns::come() {
  begin_client("runner", [this](Process& process, mortise::Client& client) {
    begin_in_an_outage(process, client);
    if (!judge_.verdict()) begin_by_a_copy(process, client);
  });
  run_until_gone(60s, "a key is run without end");
}

mortise::Once RedisUnknownRuns::concluded(mortise::Client& client, const char* key,
                                          const char* result) {
  mortise::Once once =
      client.make_once(key, {.repeat = mortise::Repeat::always, .wait = patience, .lease = lease});
  std::error_code error;
  mortise::Run run = once.begin(error);
  if (!run || run.succeed(result, error).state() != mortise::KeyState::succeeded) {
    judge_.blame("O3", "a run is not recorded that nobody took: " + error.message());
  }
  return once;
}

void RedisUnknownRuns::expect(mortise::Client& client, const char* key, const char* result,
                              const char* words) {
  std::error_code error;
  const mortise::Outcome outcome = client.make_once(key).look(error);
  if (error || outcome.state() != mortise::KeyState::succeeded || outcome.result() != result) {
    judge_.blame("O1", words + (": " + error.message()));
  }
}

void RedisUnknownRuns::begin_in_an_outage(Process& process, mortise::Client& client) {
  constexpr const char* key = "begun in an outage";
  mortise::Once once = concluded(client, key, "first");
  Connection* const connection = commands_of(process);
  if (connection == nullptr) return judge_.blame("L7", "a client has no connection");
  const ConnectionId id = connection->id();
  connection->stall(Connection::Way::down, room_.world.now() + on_its_way);
  room_.world.after(to_arrive, [this, id, &process] {
    if (Connection* const its = room_.network.find(id)) its->cut(false);
    room_.network.part(process, host(), room_.world.now() + outage);
  });
  std::error_code error;
  if (once.begin(error)) return;  // the reply was quicker
  std::this_thread::sleep_for(outage + to_undo_it);
  mortise::Client other(mortise::redis::backend(url_));
  expect(other, key, "first", "a run that no client knows of has ended with its lease");
}

void RedisUnknownRuns::begin_by_a_copy(Process& process, mortise::Client& client) {
  constexpr const char* key = "begun by a copy";
  mortise::Once once = concluded(client, key, "first");
  Connection* const connection = commands_of(process);
  if (connection == nullptr) return judge_.blame("L7", "a client has no connection");
  const ConnectionId id = connection->id();
  const auto under_way = [this, id] { return room_.network.find(id); };
  mortise::Client other(mortise::redis::backend(url_));
  expect(other, key, "first", "a key has no outcome");
  connection->stall(Connection::Way::up, room_.world.now() + on_its_way);
  bool is_recorded = false;
  std::thread asker([&] {
    std::error_code error;
    mortise::Run run = once.begin(error);
    is_recorded = run && run.succeed("second", error).state() == mortise::KeyState::succeeded;
  });
  until([&] { return under_way() == nullptr || under_way()->unacknowledged() > 0; });
  if (Connection* const its = under_way()) its->cut(true);
  asker.join();
  if (Connection* const its = under_way()) its->flow();
  for (int i = 0; is_recorded && i < looks && !judge_.verdict(); ++i) {
    expect(other, key, "second", "a request that came late has begun one more run");
    std::this_thread::sleep_for(a_look);
  }
}

}  // namespace simulation
