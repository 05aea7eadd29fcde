// SPDX-License-Identifier: MIT
#include "redis/store/grants.hpp"

#include "base/mutant.hpp"
#include "base/one_by_one.hpp"
#include "core/figures.hpp"
#include "redis/beside/replica_gate.hpp"
#include "redis/store/polling.hpp"
#include "redis/topology/topology.hpp"
#include "remote/outcome.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <thread>

namespace mortise::redis {
namespace {

// The first in a queue looks again this long after its holder's lease has ended.
constexpr std::chrono::milliseconds after_the_end{2};
// A waiter that has no place asks so often.
constexpr std::chrono::milliseconds while_resharding{50};

// Where the server's clock was set back the hold lasts for longer than was asked for, but its next
// renewal moves that end to where it belongs: who was told of the later one would believe in it,
// and the server would give the lock to the next (S1).
Grant grant_of(const Acquisition::Request& request, Instant asked, const Answer& answer) {
  return {.number = answer.number,
          .counted_from = asked,
          .lease = std::min<std::chrono::nanoseconds>(request.lease, answer.left),
          .run = answer.run};
}

}  // namespace

std::uint64_t Grants::note(const Acquisition::Request& request, Instant asked,
                           const Answer& answer) {
  if (answer.kind != Answer::Kind::granted) return 0;
  const Grant grant = grant_of(request, asked, answer);
  return parts_.attempts.held(request.attempt, grant.number, asked,
                              grant.counted_from + grant.lease);
}

bool Grants::note_first(Server& server, const Acquisition::Request& request, Instant asked,
                        const Answer& answer) {
  if (answer.kind != Answer::Kind::granted) return false;
  const Grant grant = grant_of(request, asked, answer);
  return server.told().news.note({.attempt = request.attempt,
                                  .number = grant.number,
                                  .now = asked,
                                  .until = grant.counted_from + grant.lease,
                                  .is_grant = true});
}

void Grants::answered(Server& server, const std::shared_ptr<Acquisition>& operation, Instant asked,
                      const Answer& answer) {
  const Acquisition::Request& request = operation->request();
  const auto is_given_up = [&] {
    return parts_.attempts.ask(request.attempt, remote::is_given_up);
  };
  switch (answer.kind) {
    case Answer::Kind::granted: {
      const std::uint64_t noted = server.told().hold;
      if (parts_.gate == nullptr) return granted(*operation, asked, answer, noted);
      const Grant grant = grant_of(request, asked, answer);
      return parts_.gate->pass(server.clock(), operation, grant, [this, operation, grant, noted] {
        tell_granted(*operation, grant, noted);
      });
    }
    case Answer::Kind::queued:
    case Answer::Kind::resharding: return waits(server, operation, asked, answer);
    case Answer::Kind::busy:
      // Not queued for the lack of an inbox: that will come.
      if (request.wait && !is_given_up()) {
        return waits(server, operation, asked, answer);
      }
      return ended(*operation, answer);
    case Answer::Kind::held:
    case Answer::Kind::free: return ended(*operation, answer);
    case Answer::Kind::recorded: return recorded(operation, answer);
    // The server did not look at it: an earlier request may wait there. Its reply was the next
    // reading of the server's clock. If its caller has given up, a request that takes the attempt
    // back comes behind this one.
    case Answer::Kind::too_late:
      if (!is_given_up()) parts_.exchange->ask(operation);
      return;
    case Answer::Kind::permits_differ:
      operation->failed({Errc::misconfigured,
                         request.name + ": the store has " + std::to_string(answer.permits) +
                             " permits, but this client asks for " +
                             std::to_string(request.permits) + "; use one number in all clients"});
      return parts_.exchange->over(request.attempt);
  }
}

void Grants::ended(Acquisition& operation, const Answer& answer) {
  const Acquisition::Request& request = operation.request();
  operation.busy(answer.holder());
  parts_.exchange->over(request.attempt);
  if (RedissonSide* const beside = parts_.redisson_of(request.mode)) {
    beside->hearing().stop_waiting(request.name);
  }
}

void Grants::granted(Acquisition& operation, Instant asked, const Answer& answer,
                     std::uint64_t noted) {
  if (base::mutant("redis.count_from_the_reply")) asked = parts_.now();
  tell_granted(operation, grant_of(operation.request(), asked, answer), noted);
}

void Grants::tell_granted(Acquisition& operation, const Grant& grant, std::uint64_t noted) {
  const Acquisition::Request& request = operation.request();
  const bool holds = remote::complete(*parts_.exchange, parts_.attempts, operation, grant, noted);
  RedissonSide* const beside = parts_.redisson_of(request.mode);
  if (beside == nullptr) return;
  beside->hearing().stop_waiting(request.name);
  if (holds) begins_to_hold(request, grant.number);
}

// Whatever a push has told it that it holds was over before the server looked at the record.
void Grants::recorded(const std::shared_ptr<Acquisition>& operation, const Answer& answer) {
  const Acquisition::Request& request = operation->request();
  operation->recorded(answer.record);
  remote::await_completion(*operation);
  if (!operation->record()) end_what_it_held(request, answer.record->number);
  parts_.exchange->over(request.attempt);
}

// Another thread has read a push of it, and completes it at this moment; or has it wait for the
// replicas' word, which this thread may have to read. If that grant is over, so is that: see
// ReplicaGate::acknowledged().
bool Grants::is_decided_elsewhere(const Acquisition::Request& request, const Acquisition& operation,
                                  const Answer& answer) {
  for (; parts_.attempts.number_of(request.attempt) != 0 && !operation.done();
       std::this_thread::yield()) {
    if (parts_.gate == nullptr || base::mutant("redis.sleeps_on_the_replicas_word")) continue;
    end_what_it_held(request, answer.last_number);
    return true;
  }
  if (!operation.done()) return false;
  end_what_it_held(request, answer.last_number);
  return true;
}

void Grants::waits(Server& server, const std::shared_ptr<Acquisition>& operation, Instant asked,
                   const Answer& answer) {
  const Acquisition::Request& request = operation->request();
  const Reading reading{asked, answer.now, server.clock()};
  const bool queued = answer.kind == Answer::Kind::queued;
  const std::optional<Push> early =
      parts_.attempts.waits(request.attempt, reading, answer.last_number);
  if (early) return believe(operation, *early, reading);
  if (is_decided_elsewhere(request, *operation, answer)) {
    // Neither is a cancel of it under way, nor was it granted the lock since: it stands in the
    // queue for nobody.
    // (The mutant is the other half of it, as well: no harm without.)
    const bool over = operation->done() && !parts_.attempts.find(request.attempt) &&
                      !base::mutant("redis.send_what_is_withdrawn");
    if (queued && over && operation->grant().number <= answer.last_number) {
      parts_.exchange->abandon(operation);
    }
    return;
  }
  operation->queued(answer.holder());
  if (queued) {
    parts_.turns.placed(operation, asked);
    probe_inbox(server);
    parts_.topology->waits(server, request);
  }
  if (queued && answer.first && answer.left < core::fallback_period) {
    // Free, and not all who wait were looked at, or dropped: the next look gets further.
    const bool at_once = answer.left.count() == 0;
    ask_at(operation, at_once ? asked : asked + answer.left + after_the_end);
  }
  if (answer.kind == Answer::Kind::resharding) ask_at(operation, asked + while_resharding);
  RedissonSide* const beside = parts_.redisson_of(request.mode);
  if (queued && beside != nullptr) beside->queued(*operation, answer.first);
  const Failure why =
      server.inbox().state().is_up() ? Failure{} : server.inbox().state().why_deaf().get();
  if (why) {
    operation->failed(why);
    parts_.exchange->abandon(operation);
  }
}

void Grants::ask_at(const std::shared_ptr<Acquisition>& operation, Instant when) {
  parts_.turns.ask_at(operation, when);
  parts_.polling->sooner();
}

void Grants::believe(const std::shared_ptr<Acquisition>& operation, const Push& push,
                     const Reading& reading) {
  const Grant grant{.number = push.number,
                    .counted_from = reading.not_later_than(push.granted_at),
                    .lease = base::mutant("redis.take_a_provisional_lease_for_the_whole")
                                 ? std::chrono::nanoseconds(operation->request().lease)
                                 : push.lease};
  if (parts_.gate == nullptr) return tell_believed(operation, grant);
  parts_.gate->pass(push.clock, operation, grant,
                    [this, operation, grant] { tell_believed(operation, grant); });
}

void Grants::tell_believed(const std::shared_ptr<Acquisition>& operation, const Grant& grant) {
  const Acquisition::Request& request = operation->request();
  RedissonSide* const beside = parts_.redisson_of(request.mode);
  bool holds = false;
  base::OneByOne each;
  each([&] {
    holds = remote::complete(*parts_.exchange, parts_.attempts, *operation, grant, grant.number);
  });
  if (beside != nullptr && holds) each([&] { begins_to_hold(request, grant.number); });
  if (beside != nullptr) each([&] { beside->hearing().stop_waiting(request.name); });
  parts_.exchange->look(request.attempt);
  each.finish();
}

void Grants::begins_to_hold(const Acquisition::Request& request, std::uint64_t number) {
  if (parts_.redisson->began_to_hold(request, number)) parts_.polling->sooner();
}

// It was over before the server looked for this answer: taken by force, as a rule. The grant was
// held up, and came just before it.
void Grants::end_what_it_held(const Acquisition::Request& request, std::uint64_t last) {
  if (base::mutant("redis.waits_and_holds")) return;
  const auto number = parts_.attempts.end(request.attempt, last, parts_.now());
  if (!number) return;
  parts_.host.hold_lost(
      {request.name, request.attempt, *number, request.mode},
      {Errc::lost, request.name + ": the server ended the hold while its grant was on the way"});
}

void Grants::probe_inbox(Server& server) {
  if (!server.inbox().begins_probe(parts_.now())) return;
  const auto subscribe = [&](std::string& bytes) {
    Requests::subscribe(bytes, server.inbox().channel());
  };
  if (base::mutant("redis.inbox_is_not_probed") || !server.inbox().say(subscribe))
    server.inbox().state().end_probe();
}

}  // namespace mortise::redis
