// SPDX-License-Identifier: MIT
// Calls that wait for a connection, or for a moment, and are sent again: parts of RedisBackend.
#include "base/mutant.hpp"
#include "redis/redis_backend.hpp"

#include <utility>

namespace mortise::redis {

/// @param alone one call
void RedisBackend::put_in_outbox(Calls alone) {
  const Call& call = alone.front();
  const std::shared_ptr<Operation> operation = call.operation;
  // A new request is sent at once, whatever failed before; a repeated one waits out the back-off.
  // The library paces renewals by their lease: each is worth a try of its own.
  const bool at_once = call.kind == Call::Kind::renew || !operation->in_trouble();
  const bool looks = call.kind == Call::Kind::slots;
  // First: where it has moved on by the time that it is kept, nobody would look for it there.
  const std::uint64_t version = cluster_ ? cluster_->version() : 0;
  Server& server = server_of(call);
  keep(server, std::move(alone));
  Failure why = server.why_down();
  want(server, at_once);
  if (cluster_ && cluster_->version() != version) return send_again(server.take_kept());
  // It may have come up in between, and have looked for what is kept too early.
  if (may_send(server) || (looks && server.commands().up())) {
    submit_kept(server);
  } else if (why) {
    operation->trouble(std::move(why));
  }
}

/// @param alone one call, for the next connection of that server
void RedisBackend::keep(Server& server, Calls alone) noexcept {
  const Call& call = alone.front();
  if (call.leftover) return attempts_.look_failed(call.attempt());
  // Attempts wait in their own table, and so does what takes them back behind their callers; but
  // for one that was sent here although another server has its name.
  if (call.kind == Call::Kind::acquire && !call.asks_first) return;
  if (call.kind == Call::Kind::cancel && attempts_.is_to_be_undone(call.attempt())) return;
  server.keep(std::move(alone));
}

// There was no memory for what has to be said on it. The next one begins with what is wanted by
// then.
void RedisBackend::break_commands() noexcept {
  const auto break_it = [](Server& server) {
    server.commands().mark_broken({Errc::exhausted, std::string()});
    server.commands().want();
  };
  if (!cluster_) return break_it(*server_);
  for (std::size_t i = 0; Server* const server = cluster_->nth(i); ++i) {
    if (server->commands().up()) break_it(*server);
  }
}

bool RedisBackend::is_over(const Call& call, Instant now) const {
  // The next look begins when this one ends, so a look that is dropped would be the last one. The
  // process may have stood still for longer than calls are kept.
  if (call.kind == Call::Kind::slots) return false;
  if (call.leftover) {
    if (!attempts_.is_unresolved(call.attempt())) return true;
  } else if (call.kind == Call::Kind::cancel) {
    // Its attempt may have failed for its caller, and still be somewhere at the server.
    if (!attempts_.find(call.attempt())) return true;
  } else if (call.operation->done()) {
    return true;
  }
  // Where we hold the last reference no caller waits. Some are our own: an orphaned grant to
  // release.
  const auto lease =
      call.kind == Call::Kind::cancel ? call.acquisition().request().lease : call.lease;
  const bool unwanted =
      call.leftover || call.operation.use_count() == 1 ||
      (call.kind == Call::Kind::cancel && attempts_.is_unresolved(call.attempt()));
  return unwanted && remote::was_tried_enough(call.since, lease, now);
}

// What an attempt was granted and was not told, since replicas did not have it, is not said to be
// given back any more: whoever waits for the attempt still would be refused for ever.
void RedisBackend::leave(const Call& call) {
  if (call.purpose() != remote::Purpose::give_back) return;
  attempts_.give_up_release(call.releasing().hold());
}

void RedisBackend::submit_kept(Server& server) {
  Calls kept = server.take_kept();
  if (cluster_ && !cluster_->is_agreed()) {
    // First it is asked which cluster that is.
    Calls looks;
    while (!kept.empty()) {
      Calls alone;
      alone.splice(alone.begin(), kept, kept.begin());
      if (alone.front().kind == Call::Kind::slots) {
        looks.splice(looks.end(), alone);
      } else {
        server.keep(std::move(alone));
      }
    }
    send_again(std::move(looks));
    // There may have been an agreement in between, which has looked for what is kept too early.
    if (cluster_->is_agreed()) submit_kept(server);
    return;
  }
  send_again(std::move(kept));
  // Whoever found the connection just up does this beside its reader: the second copy of a try
  // would take for nobody what was freed in between.
  for (const auto& operation : attempts_.undecided(server.commands().generation())) {
    if (&server_of(*operation) != &server) continue;
    Call call = Call::acquire(operation, clock_->now());
    call.once = true;
    submit(std::move(call));
  }
  for (const auto& operation : attempts_.to_undo(clock_->now())) take_back(operation);
  // Behind those: whatever is decided by now was not asked for, or will be answered here.
  look_at_leftovers(clock_->now());
}

void RedisBackend::send_again(Calls calls) {
  const Instant now = clock_->now();
  const auto send_one = [&](Calls& alone) {
    Call& call = alone.front();
    if (is_over(call, now)) return leave(call);
    // By what is known of the masters now: the one that was asked may be gone for good.
    if (call.kind == Call::Kind::list && cluster_) return list_cluster(call);
    call.asked = now;
    call.whole = false;
    submit(call);
  };
  const auto keep_one = [this](Calls alone) {
    Server& server = server_of(alone.front());
    keep(server, std::move(alone));
  };
  if (remote::each_or_keep(std::move(calls), send_one, keep_one)) break_commands();
}

// No library is behind it, to repeat it.
void RedisBackend::run_again_later(const Call& call, std::chrono::milliseconds pause) {
  exchange_.repeat_at(call, clock_->now() + pause);
  host_->changed(alarm_);
}

}  // namespace mortise::redis
