// SPDX-License-Identifier: MIT
#include "simulation/scene/redis_orders.hpp"

#include "core/figures.hpp"
#include "simulation/scene/redis_request.hpp"

#include <algorithm>
#include <optional>
#include <vector>

namespace simulation {
namespace {

bool is_client(const Process& process) { return process.name().starts_with("client"); }

/// @return the request of somebody who asks for a lock. No administrator takes keys.
std::optional<RedisRequest> request_in(const redis::ScriptRun& run) {
  const auto request = RedisRequest::in(run);
  const bool fits =
      run.keys.size() == 1 && run.script == "redis/acquire" && request && request->wants == 'w';
  return fits ? request : std::nullopt;
}

}  // namespace

RedisOrders::RedisOrders(Room& room, Host& host, redis::RedisModel& server, Nanos lease, Nanos end)
    : room_(room),
      host_(host),
      server_(server),
      administrator_(server, connection_of_the_administrator),
      lease_(lease),
      end_(end),
      second_grants_(
          room, host, server, [this](const std::string& key, Nanos after) { take(key, after); },
          end) {}

std::string RedisOrders::make(What what, Random& random) {
  luck_ = Random(random.next());
  Connection* const some = some_connection(luck_);
  switch (what) {
    case What::taken_meanwhile:
      ++answers_;
      // Whoever has just connected anew asks again and again until its inbox is up.
      if (some != nullptr && luck_.below(2) == 0) cut_all(some->process());
      return "the next grant is taken before it is heard of";
    case What::overdue_push: ++pushes_; return "the next push comes when its grant is over";
    case What::late_sender:
      if (some == nullptr) return "nobody sends";
      stop_a_sender(some->process(), stops);
      return "threads of " + some->process().name() + " stop while its connections break";
    case What::late_writer:
      if (some == nullptr) return "nobody sends";
      stop_a_writer(*some);
      return "who writes next for " + some->process().name() + " finds that broken, and stops";
    case What::second_grant:
      second_grants_.keep = keep;
      second_grants_.make(random);
      return "a grant ends while a question of its owner is under way";
  }
  return {};
}

// One for commands: nobody waits for a message there.
Connection* RedisOrders::some_connection(Random& random) const {
  std::vector<Connection*> all;
  for (const auto& [id, connection] : room_.network.connections()) {
    if (!connection->held() || !is_client(connection->process())) continue;
    if (server_.channels_of(id).empty()) all.push_back(connection.get());
  }
  return all.empty() ? nullptr : all[random.below(all.size())];
}

Connection* RedisOrders::inbox_of(std::string_view attempt) const {
  const auto& all =
      server_.listeners("mortise:inbox:" + std::string(attempt.substr(0, client_size)));
  return all.empty() ? nullptr : room_.network.find(all.back());
}

void RedisOrders::take(const std::string& key, Nanos after) {
  room_.world.after(after, [this, key] {
    if (!host_.up() || host_.paused_until() > room_.world.now()) return;
    administrator_.comes();
    const std::string whose = std::to_string(server_.lock(key).number);
    administrator_.run(mortise::redis::scripts::force_release, key, {whose, "3602000"});
    administrator_.goes();
  });
}

void RedisOrders::runs(const redis::ScriptRun& run) {
  if (room_.world.now() < late_.until && run.connection != late_.broken) {
    Connection* const next = room_.network.find(run.connection);
    // Answers that stay away: what is unanswered there is not the late thread's.
    if (next != nullptr && &next->process() == late_.process) {
      next->stall(Connection::Way::down, late_.until + luck_.spread(1us, 20ms));
    }
  }
  if (room_.world.now() < moved_.until) hold_up_reading(run);
  const auto request = request_in(run);
  if (answers_ > 0 && request && request->granted()) hold_up_answer(run);
  if (overdue_) tell_of_overdue(run);
  second_grants_.runs(run);
}

// The message of the theft overtakes the grant: whoever is told of both in that order must not
// believe the grant. Or that message is lost with the inbox, and what tells of the theft is that
// the attempt, which asks again, waits: its owner reads both answers at once.
void RedisOrders::hold_up_answer(const redis::ScriptRun& run) {
  const Nanos now = room_.world.now();
  const Nanos most = mortise::core::command_timeout(lease_) * 4 / 5;  // then it connects anew
  Connection* const to = room_.network.find(run.connection);
  if (to == nullptr || !to->held() || !is_client(to->process())) return;
  if (most <= to_hear || now + most > end_) return;
  --answers_;
  host_.note("an answer to " + to->process().name() + " is late, and its hold is taken");
  to->stall(Connection::Way::down, now + luck_.between(to_hear, most));
  Connection* const inbox = inbox_of(run.arguments[0]);
  if (inbox != nullptr && luck_.below(2) == 0) inbox->cut(true);
  take(std::string(run.keys[0]), luck_.spread(1us, 1ms));
}

void RedisOrders::hear_of_another_machine(Random& random, Nanos from) {
  luck_ = Random(random.next());
  moved_ = {.from = from, .until = std::min(end_, from + until_it_is_told)};
  for (std::size_t i = 0;; ++i) {
    const std::string key = "mortise:{name/" + std::to_string(i) + "}";
    if (server_.value(key) == nullptr) break;
    for (const auto& each : server_.waiters(key)) moved_.waiters.insert(each.attempt);
  }
}

// The first who waited before and asks the new machine learns nothing by its answers, however often
// it connects anew; its inbox works.
void RedisOrders::hold_up_reading(const redis::ScriptRun& run) {
  const auto request = request_in(run);
  if (room_.world.now() < moved_.from || !request || !request->queued()) return;
  const std::string attempt(request->attempt);
  Connection* const to = room_.network.find(run.connection);
  if (to == nullptr || !to->held() || !moved_.waiters.contains(attempt)) return;
  if (moved_.attempt.empty()) {
    moved_.attempt = attempt;
    host_.note("what the new machine answers to " + to->process().name() + " is late");
  }
  if (moved_.attempt == attempt) to->stall(Connection::Way::down, moved_.until);
}

// What it says of its hold does not arrive any more: the provisional lease lapses.
void RedisOrders::tell_of_moved(Connection& inbox, std::string_view attempt) {
  const Nanos now = room_.world.now();
  if (now < moved_.from || now >= moved_.until || moved_.attempt != attempt) return;
  moved_.until = now;
  const Nanos until = std::min(end_, now + luck_.between(shortest_silence, longest_silence));
  host_.note(inbox.process().name() + " is told of its grant, and cut off");
  if (keep) keep(inbox.process(), until);
  for (const auto& [id, each] : room_.network.connections()) {
    if (&each->process() == &inbox.process() && each.get() != &inbox) {
      each->stall(Connection::Way::both, until);
    }
  }
  room_.world.after(1us, [this, until, id = inbox.id()] {
    Connection* const still = room_.network.find(id);
    if (still == nullptr) return;
    still->on_arrival(
        [this, until, &process = still->process()] { room_.network.part(process, host_, until); });
  });
}

// "G <attempt> <number> <since> <lease> <key>"
void RedisOrders::told(std::string_view channel, std::string_view message) {
  second_grants_.told(channel, message);
  const bool moves = room_.world.now() < moved_.until && !moved_.attempt.empty();
  const bool delays = pushes_ > 0 && !overdue_;
  if ((!moves && !delays) || !message.starts_with("G ")) return;
  const Nanos now = room_.world.now();
  const Nanos provisional_lease = mortise::core::provisional_lease(lease_);
  const auto& listeners = server_.listeners(channel);
  Connection* const inbox = listeners.empty() ? nullptr : room_.network.find(listeners.back());
  if (inbox == nullptr || !inbox->held() || inbox->process().dead()) return;
  if (moves) return tell_of_moved(*inbox, message.substr(2, message.find(' ', 2) - 2));
  if (provisional_lease < until_it_asks || now + provisional_lease > end_) return;
  --pushes_;
  const std::string_view words = message.substr(2);
  overdue_ = Overdue{.attempt = std::string(words.substr(0, words.find(' '))),
                     .inbox = inbox->id(),
                     .until = now + provisional_lease};
  host_.note("a push to " + inbox->process().name() + " stalls, and its hold is taken");
  inbox->stall(Connection::Way::down, overdue_->until);
  take(std::string(message.substr(message.rfind(' ') + 1)), luck_.spread(10us, 20ms));
  if (!keep) return;
  // Whoever has the lock next keeps it, or the waiter would have it when it asks.
  for (const auto& [id, connection] : room_.network.connections()) {
    const Process& process = connection->process();
    if (&process != &inbox->process() && is_client(process)) keep(process, now + until_it_asks);
  }
}

// It has asked, and knows by the answer that the grant is over. Now the push of that comes, and
// what the server has said since a good while later.
void RedisOrders::tell_of_overdue(const redis::ScriptRun& run) {
  const Nanos now = room_.world.now();
  const auto request = request_in(run);
  const bool waits = request && request->queued() && request->attempt == overdue_->attempt;
  if (!waits && now < overdue_->until) return;
  const ConnectionId id = overdue_->inbox;
  overdue_.reset();
  if (!waits) return;
  room_.world.after(to_hear, [this, id] {
    if (Connection* const inbox = room_.network.find(id)) {
      inbox->trickle(luck_.between(20ms, 200ms));
    }
  });
}

void RedisOrders::cut_all(const Process& process) const {
  const auto all = room_.network.connections();
  for (const auto& [id, connection] : all) {
    if (&connection->process() == &process && connection->held()) connection->cut(true);
  }
}

// What it sends was written for the connection that broke; by the time it goes on there is another.
void RedisOrders::stop_a_sender(Process& process, int times) {
  if (times == 0 || process.dead() || room_.world.now() + longest_stop * 2 > end_) return;
  const Nanos stop = luck_.between(shortest_stop, longest_stop);
  room_.world.stop_at_place(process, 1 + luck_.below(places), stop, [this, &process] {
    // Both: of one for commands nobody may be looking for answers.
    cut_all(process);
  });
  room_.world.after(longest_stop * 2,
                    [this, &process, times] { stop_a_sender(process, times - 1); });
}

void RedisOrders::stop_a_writer(Connection& connection) {
  connection.spring_trap([this, &process = connection.process(), id = connection.id()] {
    const Nanos stop = luck_.between(shortest_stop, longest_stop);
    late_ = {.process = &process, .broken = id, .until = room_.world.now() + stop};
    if (late_.until > end_) return;
    room_.world.stop_at_place(process, 1 + luck_.below(places_behind_a_write), stop);
  });
}

}  // namespace simulation
