// SPDX-License-Identifier: MIT
#include "simulation/scene/redis_second_grants.hpp"

#include "simulation/scene/redis_request.hpp"

#include <utility>

namespace simulation {

void RedisSecondGrants::make(Random& random) {
  luck_ = Random(random.next());
  ++left_;
}

void RedisSecondGrants::runs(const redis::ScriptRun& run) {
  const Nanos now = room_.world.now();
  if (waiter_ && now > waiter_->until) waiter_.reset();
  if (!waiter_) return begin(run);
  if (!waiter_->goes_on || run.connection != waiter_->connection) return;
  if (run.arguments.empty() || run.arguments[0] != waiter_->attempt) return;
  // The answer is lost with its connection.
  waiter_.reset();
  room_.world.after(0ns, [this, id = run.connection] {
    if (Connection* const from = room_.network.find(id)) from->cut(true);
  });
}

// Nobody but this one waits, so that what its question finds is free.
void RedisSecondGrants::begin(const redis::ScriptRun& run) {
  const Nanos now = room_.world.now();
  if (left_ == 0 || now + in_all > end_) return;
  const auto request = RedisRequest::in(run);
  if (run.keys.size() != 1 || run.script != "redis/acquire" || !request->queued()) return;
  Connection* const from = room_.network.find(run.connection);
  if (from == nullptr || !from->held() || !from->process().name().starts_with("client")) return;
  const redis::LockSeen seen = server_.lock(run.keys[0]);
  const std::string attempt(request->attempt);
  if (!seen.held || seen.waiting != 1) return;
  if (seen.attempt.substr(0, client_size) == attempt.substr(0, client_size)) return;
  --left_;
  waiter_ = Waiter{.key = std::string(run.keys[0]),
                   .attempt = attempt,
                   .connection = run.connection,
                   .until = now + in_all};
  host_.note("what " + from->process().name() + " asks next is late");
  from->stall(Connection::Way::up, waiter_->until);
  silence(from->process(), waiter_->until);
  room_.world.after(a_look, [this] { wait_for_question(); });
}

// Others keep what they hold, and do not hear that it is over: nobody comes.
void RedisSecondGrants::silence(const Process& than, Nanos until) const {
  for (const auto& [id, connection] : room_.network.connections()) {
    const Process& process = connection->process();
    if (&process == &than || !process.name().starts_with("client")) continue;
    if (keep) keep(process, until);
    if (!server_.channels_of(id).empty()) connection->stall(Connection::Way::down, until);
  }
}

void RedisSecondGrants::wait_for_question() {
  if (!waiter_ || waiter_->granted) return;
  const Connection* const from = room_.network.find(waiter_->connection);
  const bool late = room_.world.now() > waiter_->until - in_all + until_it_asks;
  if (from == nullptr || !from->held() || late) {
    waiter_.reset();
  } else if (from->unacknowledged() > 0) {
    take_(waiter_->key, 1us);  // from whoever holds: the next one is told
  } else {
    room_.world.after(a_look, [this] { wait_for_question(); });
  }
}

// "G <attempt> <number> <since> <lease> <key>"
void RedisSecondGrants::told(std::string_view channel, std::string_view message) {
  if (!waiter_ || waiter_->granted || !message.starts_with("G " + waiter_->attempt)) return;
  const auto& listeners = server_.listeners(channel);
  Connection* const inbox = listeners.empty() ? nullptr : room_.network.find(listeners.back());
  Connection* const from = room_.network.find(waiter_->connection);
  if (inbox == nullptr || !inbox->held() || from == nullptr) return;
  if (from->unacknowledged() == 0) {
    // Too early: with the next one, perhaps.
    from->flow();
    waiter_.reset();
    ++left_;
    return;
  }
  waiter_->granted = true;
  if (keep) keep(inbox->process(), room_.world.now() + luck_.between(shortest_keep, longest_keep));
  room_.world.after(to_hear, [this, id = inbox->id()] { end_the_grant(id); });
}

// Its owner is told, or lets go before it could hear of that.
void RedisSecondGrants::end_the_grant(ConnectionId inbox) {
  Connection* const to = room_.network.find(inbox);
  if (!waiter_ || to == nullptr) return;
  const bool hears = luck_.chance(0.5);
  host_.note("the hold of " + to->process().name() + " ends, while a question of it is under way");
  if (!hears) to->stall(Connection::Way::down, room_.world.now() + longest_keep * 2);
  take_(waiter_->key, 1us);
  room_.world.after(hears ? luck_.between(1ms, 2 * to_hear) : Nanos(1ms), [this] { let_go_on(); });
}

void RedisSecondGrants::let_go_on() {
  if (!waiter_) return;
  Connection* const from = room_.network.find(waiter_->connection);
  if (from == nullptr || !from->held()) return;
  waiter_->goes_on = true;
  if (luck_.chance(0.5)) return from->flow();
  // Or the connection breaks first, and the question comes later.
  const Nanos late = luck_.spread(100us, 30ms);
  from->flow();
  from->stall(Connection::Way::up, room_.world.now() + late);
  from->cut(true);
}

}  // namespace simulation
