// SPDX-License-Identifier: MIT
// What comes to a client's inbox, and when the first of a queue looks without being told: parts of
// RedisBackend.
#include "base/mutant.hpp"
#include "base/one_by_one.hpp"
#include "redis/lock_key.hpp"
#include "redis/redis_backend.hpp"
#include "redis/rights.hpp"
#include "redis/server_error.hpp"

#include <thread>
#include <utility>

namespace mortise::redis {

void RedisBackend::pushed(Server& server, const Reply& message) {
  if (message.is_error()) return refused_inbox(server, message.text);
  if (message.kind != Reply::Kind::array || message.items.size() != 3) return;
  const std::string& kind = message.items[0].text;
  if (server.names() != nullptr && kind.starts_with('s') && kind.ends_with("subscribe") &&
      message.items[1].text != server.channel()) {
    return told_of_subscription(server, message);
  }
  if (kind != "message" && kind != "smessage") {
    // Others are the answers to subscriptions.
    if (message.items[1].text == server.channel()) {
      server.end_probe();
    } else if (kind == "unsubscribe") {
      if (redisson_) redisson_->ended(message.items[1].text);
    } else {
      // What was said before it listened was told to nobody; and only by asking once more the
      // server learns that it is one of ours who listens.
      if (redisson_) redisson_->heard_of(message.items[1].text);
    }
    return;
  }
  std::optional<Push> push = Push::parse(message.items[2].text);
  if (push) push->clock = server.clock_of_inbox();
  if (!push) {
    if (redisson_) redisson_->heard_of(message.items[1].text);
    return;
  }
  switch (push->kind) {
    case Push::Kind::granted: return pushed_grant(server, *std::move(push));
    case Push::Kind::look:
      if (push->number != 0) attempts_.concluded(push->attempt, push->number);
      if (const auto operation = attempts_.find(push->attempt)) ask(operation);
      return;
    case Push::Kind::taken:
      if (const std::optional<Named> named = named_by(settings_.prefix, push->key)) {
        const Mode mode = named->mode == Mode::exclusive ? push->mode : named->mode;
        host_->hold_lost({named->name, push->attempt, push->number, mode},
                         {Errc::lost, named->name + ": released by force"});
      }
      return;
  }
}

// What it was told is not done: a server that is busy with a script takes no UNSUBSCRIBE either,
// and went on counting a client that had left among those who wait. The next connection begins with
// what is wanted by then. A client that may not listen to a channel does without.
void RedisBackend::refused_inbox(Server& server, const std::string& words) {
  const ServerError error = server_error(server.where(), words);
  if (server.names() != nullptr && error.failure.code == Errc::denied) {
    return server.break_inbox({Errc::denied, error.failure.text + remedy(settings_, words)});
  }
  if (server.names() != nullptr) {
    // Said anew when its waiters ask the next time. A cluster that is down would refuse it of each
    // new connection as well, and that would take the names along that are listened to.
    server.names()->refused();
    return want_look();
  }
  if (error.kind != ServerError::Kind::final) server.break_inbox(error.failure);
}

void RedisBackend::pushed_grant(Server& server, Push push) {
  if (push.key.ends_with(once_sign)) return;  // no script says that
  std::optional<Named> named;
  if (cluster_) {
    // A master's messages come by its replicas, too, with its time; and one that was replaced is a
    // replica.
    named = named_by(settings_.prefix, push.key);
    const auto since = named ? server.names()->since(named->name) : std::nullopt;
    if (!since || &server_of(named->name) != &server) push.clock = 0;
    push.heard_since = since.value_or(Instant{});
  }
  const Attempts::Verdict verdict = attempts_.granted(push);
  switch (verdict.kind) {
    case Attempts::Verdict::Kind::believe: return believe(verdict.operation, push, verdict.reading);
    case Attempts::Verdict::Kind::known: return;
    case Attempts::Verdict::Kind::too_early:
      if (push.clock != 0) return;  // with the reply that is under way
      [[fallthrough]];
    case Attempts::Verdict::Kind::unreadable: return ask(verdict.operation);
    case Attempts::Verdict::Kind::unwanted: break;
  }
  if (!named) named = named_by(settings_.prefix, push.key);
  if (named) {
    give_back({std::move(named->name), push.attempt, push.number, named->mode}, push.lease);
  }
}

void RedisBackend::believe(const std::shared_ptr<Acquisition>& operation, const Push& push,
                           const Reading& reading) {
  const Grant grant{.number = push.number,
                    .counted_from = reading.not_later_than(push.granted_at),
                    .lease = base::mutant("redis.take_a_provisional_lease_for_the_whole")
                                 ? std::chrono::nanoseconds(operation->request().lease)
                                 : push.lease};
  if (witness() == nullptr) return tell_believed(operation, push, grant);
  attest(push.clock, operation, grant,
         [this, operation, push, grant] { tell_believed(operation, push, grant); });
}

void RedisBackend::tell_believed(const std::shared_ptr<Acquisition>& operation, const Push& push,
                                 const Grant& grant) {
  operation->granted(grant);
  while (!operation->done()) std::this_thread::yield();
  attempts_.took(*operation);  // before the next push is read
  const Acquisition::Request& request = operation->request();
  base::OneByOne each;
  if (operation->grant().number != push.number) {
    each([&] { give_back({request.name, push.attempt, push.number, request.mode}, push.lease); });
  } else if (redisson(request.mode)) {
    each([&] { begins_to_hold(request, push.number); });
  }
  if (redisson(request.mode)) each([&] { redisson_->stop_waiting(request.name); });
  end_leftover_of(push.attempt);
  each.finish();
}

void RedisBackend::begins_to_hold(const Acquisition::Request& request, std::uint64_t number) {
  if (redisson_->began_to_hold(request, number)) host_->changed(alarm_);
}

// It was over before the server looked for this answer: taken by force, as a rule. The grant was
// held up, and came just before it.
void RedisBackend::end_what_it_held(const Acquisition::Request& request, std::uint64_t last) {
  if (base::mutant("redis.waits_and_holds")) return;
  const auto number = attempts_.end(request.attempt, last, clock_->now());
  if (!number) return;
  host_->hold_lost(
      {request.name, request.attempt, *number, request.mode},
      {Errc::lost, request.name + ": the server ended the hold while its grant was on the way"});
}

void RedisBackend::probe_inbox(Server& server) {
  if (!server.begins_probe(clock_->now())) return;
  std::string bytes;
  requests_.subscribe(bytes, server.channel());
  if (base::mutant("redis.inbox_is_not_probed") || !server.say_to_inbox(bytes)) server.end_probe();
}

void RedisBackend::Alarm::ready(short /*events*/, Instant now) {
  backend_.send_again(backend_.exchange_.take_due(now));
  if (backend_.redisson_) backend_.redisson_->look(now);
  if (backend_.cluster_) backend_.look_at_slots(now);
  for (const auto& operation : backend_.turns_.take_due(now)) backend_.ask(operation);
  if (const auto waiter = backend_.turns_.take_left_out(now)) backend_.renew_places(waiter);
  backend_.look_at_leftovers(now, false);
}

}  // namespace mortise::redis
