// SPDX-License-Identifier: MIT
// What becomes of requests while their server cannot be reached, or cannot tell who has what it
// waits for: parts of RedisBackend.
#include "base/mutant.hpp"
#include "base/one_by_one.hpp"
#include "redis/redis_backend.hpp"

#include <utility>

namespace mortise::redis {

void RedisBackend::listens(Server& server) {
  go_on_checking();
  // Nothing was told while there was no inbox; and who was not queued for the lack of it is now. A
  // try needs no inbox, and ends with its first answer: a second copy would come behind that, and
  // take for nobody what was freed in between.
  for (const auto& operation : attempts_.undecided()) {
    if (&server_of(*operation) != &server) continue;
    if (cluster_) {
      if (operation->request().wait) listen(server, operation->request());
      continue;
    }
    if (operation->request().wait || base::mutant("redis.inbox_repeats_tries")) ask(operation);
  }
}

// One server of several in the URL decides nothing as long as they have not agreed on a cluster.
void RedisBackend::lost_commands(Server& server, const Failure& why, bool final, bool was_up,
                                 std::list<Call> unanswered) {
  const bool open = cluster_ != nullptr && !cluster_->is_agreed();
  if (open && final) cluster_->note_unusable(why);
  lose(server, why, final && !open, was_up, std::move(unanswered));
}

void RedisBackend::lose(Server& server, const Failure& why, bool final, bool was_up,
                        std::list<Call> unanswered) {
  if (stopped_.load()) return;
  const Instant now = clock_->now();
  note_unanswered(server, unanswered);
  Calls outbox = server.take_kept();
  outbox.splice(outbox.end(), unanswered);
  // What the server has answered to a check is out of date.
  outbox.splice(outbox.end(), exchange_.take_held_up(
                                  [&](const Call& call) { return &server_of(call) == &server; }));
  const bool looked =
      outbox.remove_if([](const Call& call) { return call.kind == Call::Kind::slots; }) > 0;
  base::OneByOne each;
  if (cluster_) each([&] { lost_in_cluster(server, outbox); });
  const auto leave = [&](Calls& alone) { left_behind(alone, why, final, was_up); };
  bool wanted = remote::each_or_keep(std::move(outbox), leave,
                                     [&](Calls alone) { keep(server, std::move(alone)); });
  each([&] { tell_undecided(server, why, final); });
  if (looked) each([&] { answered_no_slots(server); });  // behind what waits for it by now
  wanted = wanted || each.failed() || attempts_.is_any_pending(now);
  if (wanted) want(server);
  each.finish();
}

// A connection that was up is up again at once, as a rule.
void RedisBackend::left_behind(Calls& alone, const Failure& why, bool final, bool was_up) {
  const Call& call = alone.front();
  const remote::Fate fate = remote::fate_of_lost(call.purpose(), final, was_up);
  if (fate == remote::Fate::drop) return;
  if (is_over(call, clock_->now())) return leave(call);
  if (fate == remote::Fate::fail) {
    fail_protocol(call, why);
  } else if (fate == remote::Fate::unanswered) {
    call.operation->trouble(why);
    call.renewal().answered();
  } else {
    put_in_outbox(std::move(alone));
  }
}

void RedisBackend::tell_undecided(Server& server, const Failure& why, bool final) {
  base::OneByOne each;
  for (const auto& operation : attempts_.undecided()) {
    if (&server_of(*operation) != &server) continue;
    // What was never on that connection cannot have caused a wrong reply there.
    if (final && why.code != Errc::protocol) {
      // A copy may have been executed before the connection broke: a hold that nobody knows of.
      each([&] {
        operation->failed(why);
        cancel_behind(operation);
      });
    } else {
      want(server);
      each([&] { operation->trouble(why); });
    }
  }
  each.finish();
}

void RedisBackend::lost_inbox(Server& server, const Failure& /*why*/, bool final) {
  if (stopped_.load()) return;
  if (redisson_) redisson_->forget();
  base::OneByOne each;
  each([&] { go_on_checking(); });
  // A client that may not listen may still take a lock that is free. So the server answers first:
  // waits() fails an attempt that would have to wait, and knows why there is no inbox.
  for (const auto& operation : attempts_.undecided()) {
    if (!final || !operation->request().wait || &server_of(*operation) != &server) continue;
    each([&] { ask(operation); });
  }
  each.finish();
}

}  // namespace mortise::redis
