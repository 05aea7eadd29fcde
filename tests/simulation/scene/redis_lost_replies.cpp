// SPDX-License-Identifier: MIT
#include "simulation/scene/redis_lost_replies.hpp"

#include <mortise/once.hpp>
#include <mortise/redis.hpp>

#include <chrono>
#include <system_error>
#include <thread>

namespace simulation {

void RedisLostReplies::come() {
  begin_client("loser", [this](Process& process, mortise::Client& client) {
    for (int i = 0; i < times && !judge_.verdict(); ++i) lose_a_request(process, client);
    if (!judge_.verdict()) lose_a_conclusion(process, client);
  });
  run_until_gone(30s, "a request is not repeated");
}

void RedisLostReplies::lose_a_request(Process& process, mortise::Client& client) {
  const auto take_and_leave = [&client] {
    mortise::Lock lock = client.make_lock(the_name, {.lease = lease});
    lock.lock();
    lock.unlock();
  };
  take_and_leave();
  Connection* const connection = commands_of(process);
  if (connection == nullptr) return judge_.blame("L7", "a client has no connection");
  const ConnectionId id = connection->id();
  const auto under_way = [this, id] { return room_.network.find(id); };
  connection->stall(Connection::Way::up, room_.world.now() + on_its_way);
  std::thread asker(take_and_leave);
  until([&] { return under_way() == nullptr || under_way()->unacknowledged() > 0; });
  if (Connection* const its = under_way()) its->cut(true);
  asker.join();
  if (Connection* const its = under_way()) its->flow();
  std::this_thread::sleep_for(to_arrive);
  mortise::Client other(mortise::redis::backend(url_));
  mortise::Lock lock = other.make_lock(the_name, {.lease = lease});
  std::error_code error;
  if (lock.acquire({.wait = to_give_back}, error)) return lock.unlock();
  judge_.blame("S5", "what a late copy has taken is not given back: " + error.message());
}

void RedisLostReplies::lose_a_conclusion(Process& process, mortise::Client& client) {
  mortise::Once once = client.make_once(the_key, {.wait = lease, .lease = lease});
  std::error_code error;
  mortise::Run run = once.begin(error);
  if (!run) return judge_.blame("L2", "a new key is not to be run: " + error.message());
  Connection* const connection = commands_of(process);
  if (connection == nullptr) return judge_.blame("L7", "a client has no connection");
  const ConnectionId id = connection->id();
  connection->stall(Connection::Way::down, room_.world.now() + on_its_way);
  room_.world.after(to_arrive, [this, id] {
    if (Connection* const its = room_.network.find(id)) its->cut(false);
  });
  if (run.succeed("done", error).state() != mortise::KeyState::succeeded) {
    judge_.blame("O3", "a conclusion whose reply was lost is not found: " + error.message());
  }
}

}  // namespace simulation
