// SPDX-License-Identifier: MIT
// What comes to a client's inbox, and when the first of a queue looks without being told: parts of
// RedisBackend.
#include "base/mutant.hpp"
#include "redis/lock_key.hpp"
#include "redis/redis_backend.hpp"
#include "redis/server_error.hpp"

#include <thread>
#include <utility>

namespace mortise::redis {

void RedisBackend::pushed(const Reply& message) {
  if (message.is_error()) return refused_inbox(message.text);
  if (message.kind != Reply::Kind::array || message.items.size() != 3) return;
  if (message.items[0].text != "message") {
    // Others are the answers to subscriptions.
    if (message.items[1].text == inbox_channel_) {
      awaits_probe_.store(false);
    } else if (message.items[0].text == "unsubscribe") {
      const std::lock_guard lock(mutex_);
      left_channels_.erase(message.items[1].text);
    } else {
      look_for_holder(message.items[1].text);
    }
    return;
  }
  const std::optional<Push> push = Push::parse(message.items[2].text);
  if (!push) return heard_of(message.items[1].text);
  switch (push->kind) {
    case Push::Kind::granted: return pushed_grant(*push);
    case Push::Kind::look:
      if (const auto operation = attempts_.find(push->attempt)) ask(operation);
      return;
    case Push::Kind::taken:
      if (const std::optional<std::string> name = lock_name(settings_.prefix, push->key)) {
        host_->hold_lost({.name = *name, .attempt = push->attempt, .number = push->number},
                         {Errc::lost, *name + ": taken away by an administrator"});
      }
      return;
  }
}

// What it was told is not done: a server that is busy with a script takes no UNSUBSCRIBE either,
// and went on counting a client that had left among those who wait. The next connection begins with
// what is wanted by then. A client that may not listen to a channel does without.
void RedisBackend::refused_inbox(const std::string& words) {
  const ServerError error = server_error(describe(), words);
  Connection* const inbox = inbox_.load();
  if (error.kind != ServerError::Kind::final && inbox != nullptr) inbox->mark_broken(error.failure);
}

void RedisBackend::pushed_grant(const Push& push) {
  const Attempts::Verdict verdict = attempts_.granted(push);
  switch (verdict.kind) {
    case Attempts::Verdict::Kind::believe: return believe(verdict.operation, push, verdict.reading);
    case Attempts::Verdict::Kind::later:  // with the reply that is under way
    case Attempts::Verdict::Kind::known: return;
    case Attempts::Verdict::Kind::orphaned_grant: break;
  }
  if (const std::optional<std::string> name = lock_name(settings_.prefix, push.key)) {
    give_back(*name, push.attempt, push.number, push.lease);
  }
}

void RedisBackend::believe(const std::shared_ptr<Acquisition>& operation, const Push& push,
                           const Reading& reading) {
  operation->granted({.number = push.number,
                      .counted_from = reading.not_later_than(push.granted_at),
                      .lease = base::mutant("redis.take_a_provisional_lease_for_the_whole")
                                   ? std::chrono::nanoseconds(operation->request().lease)
                                   : push.lease});
  while (!operation->done()) std::this_thread::yield();
  attempts_.completed(*operation);  // before the next push is read
  stop_listening_to(operation->request().name);
  if (operation->grant().number == push.number) {
    holds(operation->request(), push.number);
  } else {
    give_back(operation->request().name, push.attempt, push.number, push.lease);
  }
  end_leftover_of(push.attempt);
}

// It was over before the server looked for this answer: taken by force, as a rule. The grant was
// held up, and came just before it.
void RedisBackend::end_what_it_held(const Acquisition::Request& request, std::uint64_t last) {
  if (base::mutant("redis.waits_and_holds")) return;
  const auto number = attempts_.ends(request.attempt, last, clock_->now());
  if (!number) return;
  host_->hold_lost(
      {.name = request.name, .attempt = request.attempt, .number = *number},
      {Errc::lost, request.name + ": over at the server, which has its owner wait again"});
}

// Who stands behind is told by the first; so is whoever was the first and lost its place in
// silence.
void RedisBackend::listen_as(const std::string& name, bool first) {
  if (settings_.queue_mode != QueueMode::redisson) return;
  if (first || base::mutant("redis.all_hear_redissons_channel")) {
    listen_to(name);
  } else {
    stop_listening_to(name);
  }
}

void RedisBackend::listen_to(const std::string& name) {
  hear(name, [](Hearing& hearing) { hearing.waits = true; });
}

// Who listens and does not wait would be taken for one of Redisson's waiters, for whom each release
// keeps the lock a moment.
void RedisBackend::stop_listening_to(const std::string& name) {
  if (settings_.queue_mode != QueueMode::redisson) return;
  hear(name, [](Hearing& hearing) { hearing.waits = false; });
}

void RedisBackend::hear(const std::string& name, const std::function<void(Hearing&)>& change) {
  const std::string channel = redisson_channel(name);
  // Until it is sent: one thread stood still between the two, another one's UNSUBSCRIBE overtook
  // its SUBSCRIBE, and from then on each release kept the lock for a waiter of Redisson that was
  // none.
  std::unique_lock order(hearing_, std::defer_lock);
  if (!base::mutant("redis.subscriptions_overtake")) order.lock();
  bool begins = false;
  {
    const std::lock_guard lock(mutex_);
    const auto found = channels_.find(channel);
    Hearing hearing = found == channels_.end() ? Hearing{.name = name} : found->second;
    change(hearing);
    begins = hearing.wanted();
    if (begins == (found != channels_.end())) {
      if (begins) found->second = std::move(hearing);
      return;
    }
    if (begins) {
      channels_.emplace(channel, std::move(hearing));
    } else {
      channels_.erase(found);
      left_channels_.insert(channel);
    }
  }
  std::string bytes;
  begins ? requests_.subscribe(bytes, channel) : requests_.unsubscribe(bytes, channel);
  Connection* const inbox = inbox_.load();
  if ((inbox != nullptr && inbox->send(bytes)) || !begins) return;
  const std::lock_guard lock(mutex_);
  channels_.erase(channel);
}

bool RedisBackend::listens_to(const std::string& name) {
  if (settings_.queue_mode != QueueMode::redisson) return false;
  const std::lock_guard lock(mutex_);
  const auto found = channels_.find(redisson_channel(name));
  return found != channels_.end() && found->second.waits;
}

// Of whoever waits first the server knows that it listens.
bool RedisBackend::is_still_heard(const std::string& name) {
  if (settings_.queue_mode != QueueMode::redisson || base::mutant("redis.hears_itself")) {
    return false;
  }
  const std::string channel = redisson_channel(name);
  const std::lock_guard lock(mutex_);
  const auto found = channels_.find(channel);
  return found == channels_.end() ? left_channels_.contains(channel) : !found->second.waits;
}

// An inbox that something on the way has forgotten looks like one to which nothing has come: the
// server passes its waiters over, or waits for each. As long as somebody waits it is asked for a
// word now and then, by what it is allowed to say anyway: a subscription that it has already.
void RedisBackend::probe_inbox() {
  constexpr std::chrono::seconds interval{1};
  constexpr std::chrono::seconds patience_of_a_probe{2};
  Connection* const inbox = inbox_.load();
  if (inbox == nullptr || !inbox_up_.load()) return;
  const Instant now = clock_->now();
  const Instant before{Instant::duration(probed_.load())};
  if (awaits_probe_.load()) {
    if (now - before < patience_of_a_probe || !awaits_probe_.exchange(false)) return;
    inbox->mark_broken({Errc::unavailable, inbox->where() + ": the inbox does not answer"});
    return;
  }
  if (now - before < interval || awaits_probe_.exchange(true)) return;
  probed_.store(now.time_since_epoch().count());
  std::string bytes;
  requests_.subscribe(bytes, inbox_channel_);
  if (base::mutant("redis.inbox_is_not_probed") || !inbox->send(bytes)) awaits_probe_.store(false);
}

void RedisBackend::heard_of(const std::string& channel) {
  look_for_holder(channel);
  std::string name;
  {
    const std::lock_guard lock(mutex_);
    const auto found = channels_.find(channel);
    if (found == channels_.end() || !found->second.waits) return;
    name = found->second.name;
  }
  bool anybody = false;
  for (const auto& operation : attempts_.undecided()) {
    if (operation->request().name != name) continue;
    anybody = true;
    ask(operation);
  }
  if (!anybody) stop_listening_to(name);
}

void RedisBackend::Alarm::ready(short /*events*/, Instant now) {
  backend_.send_repeats(now);
  backend_.look_at_long_holds(now);
  for (const auto& operation : backend_.attempts_.looks(now)) backend_.ask(operation);
}

}  // namespace mortise::redis
