// SPDX-License-Identifier: MIT
#include "simulation/scene/redlock_newcomers.hpp"

#include <mortise/client.hpp>
#include <mortise/redlock.hpp>

#include <algorithm>
#include <chrono>
#include <thread>

namespace simulation {

void RedlockNewcomers::come() {
  begin("host", [this](Process& /*process*/) { hold(); });
  newcomer_ = &begin("newcomer", [this](Process& /*process*/) { wait(); });
  run_until_gone(10s, "a newcomer is not served");
}

void RedlockNewcomers::until_act(Act act) const {
  until([this, act] { return act_ >= act; });
}

void RedlockNewcomers::hold() {
  mortise::Client client(mortise::redlock::backend(url_));
  mortise::Lock first = client.make_lock(first_name, {.lease = lease});
  mortise::Lock second = client.make_lock(second_name, {.lease = lease});
  first.lock();
  second.lock();
  act_ = Act::is_held;
  until_act(Act::asks);
  std::this_thread::sleep_for(random_.between(30ms, 150ms));
  freed_at_ = room_.world.now();
  second.unlock();
  until_act(Act::is_told);
  second.lock();
  act_ = Act::is_held_again;
  until_act(Act::asks_again);
  // The servers have refused it, and it has yet to read that.
  std::this_thread::sleep_for(to_arrive);
  for (Connection* const inbox : inboxes()) inbox->cut(true);
  std::this_thread::sleep_for(random_.spread(10us, 1ms));
  freed_at_ = room_.world.now();
  second.unlock();
  until_act(Act::is_told_again);
  first.unlock();
}

void RedlockNewcomers::wait() {
  until_act(Act::is_held);
  mortise::Client client(mortise::redlock::backend(url_));
  client.check(1s);
  first_ = connections();
  std::thread other([&] {
    mortise::Lock lock = client.make_lock(first_name, {.lease = lease});
    lock.lock();
    lock.unlock();
  });
  // Who waits has them made: the answers to the next question come when they are there.
  for (int i = 0; i < 1000 && inboxes().empty(); ++i) std::this_thread::sleep_for(20us);
  ask(client, Act::asks, to_come_back);
  act_ = Act::is_told;
  until_act(Act::is_held_again);
  ask(client, Act::asks_again, to_come_back);
  act_ = Act::is_told_again;
  other.join();
}

void RedlockNewcomers::ask(mortise::Client& client, Act act, Nanos silence) {
  World& world = room_.world;
  mortise::Lock lock = client.make_lock(second_name, {.lease = lease});
  const Nanos heard_at = world.now() + silence;
  for (const ConnectionId id : first_) {
    if (Connection* const connection = room_.network.find(id)) {
      connection->stall(Connection::Way::down, heard_at);
    }
  }
  act_ = act;
  lock.lock();
  const Nanos late = world.now() - std::max(freed_at_, heard_at);
  if (late > bound_) {
    judge_.blame("L2", "a newcomer was not told of the release, and has the name " +
                           std::to_string(late.count()) + " ns after it");
  }
  lock.unlock();
}

std::set<ConnectionId> RedlockNewcomers::connections() const {
  std::set<ConnectionId> its;
  for (const auto& [id, connection] : room_.network.connections()) {
    if (&connection->process() == newcomer_ && connection->held()) its.insert(id);
  }
  return its;
}

std::vector<Connection*> RedlockNewcomers::inboxes() const {
  std::vector<Connection*> all;
  for (const ConnectionId id : connections()) {
    if (!first_.contains(id)) all.push_back(room_.network.find(id));
  }
  return all;
}

}  // namespace simulation
