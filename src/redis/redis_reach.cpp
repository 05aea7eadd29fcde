// SPDX-License-Identifier: MIT
// Whether the server can be reached, and what becomes of requests while it cannot: parts of
// RedisBackend. The two connections have to lead to the same server, started once: a grant that one
// tells of must not be of a server that the other one has not met.
#include "base/farewell.hpp"
#include "base/mutant.hpp"
#include "base/one_by_one.hpp"
#include "redis/redis_backend.hpp"

#include <utility>

namespace mortise::redis {
namespace {

// The code says enough where there is no memory for the words.
void note(Failure& as, const Failure& why) noexcept {
  as.code = why.code;
  as.text.clear();
  base::without_memory([&] { as.text = why.text; });
}

}  // namespace

void RedisBackend::greeted(Connection& connection, const ServerFacts& facts) {
  if (&connection != commands_.get()) {
    const std::lock_guard lock(mutex_);
    inbox_run_id_ = facts.run_id;
    return;
  }
  bool another = false;
  {
    const std::lock_guard lock(mutex_);
    another = std::exchange(run_id_, facts.run_id) != facts.run_id;
    no_commands_ = Failure{};
  }
  if (another) attempts_.forget_readings();
}

void RedisBackend::connected(Connection& connection) {
  bool same = false;
  {
    const std::lock_guard lock(mutex_);
    same = run_id_ == inbox_run_id_;
    if (&connection != commands_.get()) no_inbox_ = Failure{};
  }
  if (&connection == commands_.get()) {
    Connection* const inbox = inbox_.load();
    if (inbox != nullptr && inbox->up() && !same) {
      inbox->mark_broken({Errc::unavailable, describe() + ": the server was started anew"});
    }
    lead_inbox(true);
    submit_outbox();
    return;
  }
  if (!same) {
    // It leads to a server that was started since: the other connection is a dead one.
    commands_->mark_broken({Errc::unavailable, describe() + ": the server was started anew"});
    connection.drop({Errc::unavailable, describe() + ": the server was started anew"});
    return;
  }
  inbox_up_.store(true);
  // Nothing was told while there was no inbox; and who was not queued for the lack of it is now. A
  // try needs no inbox, and ends with its first answer: a second copy would come behind that, and
  // take for nobody what was freed in between.
  for (const auto& operation : attempts_.undecided()) {
    if (operation->request().wait || base::mutant("redis.inbox_repeats_tries")) ask(operation);
  }
}

void RedisBackend::lead_inbox(bool now) {
  Connection* const inbox = inbox_.load();
  if (inbox != nullptr && !inbox->up() && commands_->up()) {
    inbox->want_at(commands_->endpoint(), now);
  }
}

void RedisBackend::dropped(Connection& connection, const Failure& why, bool was_up,
                           std::list<Call> unanswered) {
  if (stopped_.load()) return;
  if (&connection == commands_.get()) {
    lost_commands(why, std::move(unanswered), remote::is_final(why), was_up);
  } else {
    // Whoever may publish can send rubbish to an inbox: that costs the connection, not the waiters,
    // who ask again.
    lost_inbox(why, remote::is_final(why) && why.code != Errc::protocol);
    // Whatever broke it may have broken the other one, which nobody may be looking at.
    if (was_up) commands_->suspect();
  }
}

void RedisBackend::lost_commands(const Failure& why, std::list<Call> unanswered, bool final,
                                 bool was_up) {
  const Instant now = clock_->now();
  note_unanswered(unanswered, now);
  Calls outbox;
  {
    const std::lock_guard lock(mutex_);
    note(no_commands_, why);
    outbox = outbox_.take();
  }
  outbox.splice(outbox.end(), unanswered);
  const auto leave = [&](Calls& alone) { left_behind(alone, why, final, was_up); };
  bool wanted = remote::each_or_keep(std::move(outbox), leave,
                                     [this](Calls alone) { keep(std::move(alone)); });
  base::OneByOne each;
  each([&] { tell_undecided(why, final); });
  wanted = wanted || each.failed() || attempts_.takes_back(now);
  if (wanted) commands_->want();
  each.finish();
}

// A connection that was up is up again at once, as a rule.
void RedisBackend::left_behind(Calls& alone, const Failure& why, bool final, bool was_up) {
  const Call& call = alone.front();
  if (call.leftover || is_over(call, clock_->now())) return;  // see note_unanswered()
  if (final && call.only_asks()) {
    // Releases and cancels stay: they free what others wait for.
    fail_protocol(call, why);
  } else if (call.kind == Call::Kind::renew && (final || !was_up)) {
    call.renewal().answered();  // unknown: repeated inside the lease
  } else if (call.kind != Call::Kind::acquire) {
    put_in_outbox(std::move(alone));
  }
}

void RedisBackend::tell_undecided(const Failure& why, bool final) {
  base::OneByOne each;
  for (const auto& operation : attempts_.undecided()) {
    // What was never on that connection cannot have caused a wrong reply there.
    if (final && why.code != Errc::protocol) {
      // A copy may have been executed before the connection broke: a hold that nobody knows of.
      each([&] {
        operation->failed(why);
        cancel_behind(operation);
      });
    } else {
      commands_->want();
      each([&] { operation->trouble(why); });
    }
  }
  each.finish();
}

void RedisBackend::lost_inbox(const Failure& why, bool final) {
  inbox_up_.store(false);
  awaits_probe_.store(false);
  if (redisson_) redisson_->forget();
  if (final) {
    const std::lock_guard lock(mutex_);
    note(no_inbox_, why);
  }
  lead_inbox(false);  // whatever fails below: without one nobody joins a queue
  if (!final) return;
  base::OneByOne each;
  for (const auto& operation : attempts_.undecided()) {
    if (!operation->request().wait) continue;
    each([&] {
      operation->failed(why);
      cancel_behind(operation);
    });
  }
  each.finish();
}

}  // namespace mortise::redis
