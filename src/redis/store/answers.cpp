// SPDX-License-Identifier: MIT
#include "redis/store/answers.hpp"

#include "base/one_by_one.hpp"
#include "core/figures.hpp"
#include "redis/beside/replica_gate.hpp"
#include "redis/store/listing.hpp"
#include "redis/store/polling.hpp"
#include "redis/store/rights.hpp"
#include "redis/store/server_error.hpp"
#include "redis/topology/renewal_parts.hpp"
#include "redis/topology/topology.hpp"
#include "remote/outcome.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace mortise::redis {
namespace {

// A grant of a key has the number of its run. Only a key has a record.
bool fits(const Call& call, const Answer& answer) {
  const bool once = call.mode() == Mode::once;
  switch (answer.kind) {
    case Answer::Kind::granted: return once == (answer.run != 0);
    case Answer::Kind::recorded: return once && call.kind != Call::Kind::cancel;
    default: return call.kind != Call::Kind::recall;
  }
}

// @return whether the answer would name a hold that a lost request had taken by then. A void
// request reads nothing. A cancel of a key names a run whose lease is over only if it was written
// when its attempt was decided: until then the client may still get that run.
bool shows_what_was_taken(const Call& call, const Answer& answer) {
  if (answer.kind == Answer::Kind::too_late) return false;
  return call.kind == Call::Kind::acquire || call.mode() != Mode::once || call.written.decided;
}

}  // namespace

void Answers::matched(Server& server, const Call& call, const Reply& reply, Instant now) {
  Server::Told& told = server.told();
  told.forget();
  if (reply.kind != Reply::Kind::array) return;
  switch (call.kind) {
    case Call::Kind::release:
    case Call::Kind::force:
      told.release = ReleaseAnswer::parse(reply);
      if (told.release && call.kind == Call::Kind::release) matched_release(server, call, now);
      return;
    case Call::Kind::renew:
    case Call::Kind::list:
    case Call::Kind::queue:
    case Call::Kind::ask: return;
    default: break;
  }
  told.answer = Answer::parse(reply);
  if (told.answer && !fits(call, *told.answer)) told.answer.reset();
  if (!told.answer) return;
  server.identity().time().read(call.asked, told.answer->now, now);
  if (!call.is_about_an_attempt()) return;
  const Acquisition::Request& request = call.acquisition().request();
  // As nearly always.
  if (!call.copies && call.kind == Call::Kind::acquire &&
      grants_.note_first(server, request, call.asked, *told.answer)) {
    told.hold = told.answer->number;
    return;
  }
  Attempts& attempts = parts_.attempts;
  const Attempts::Lock lock(attempts);
  told.looks_later = !shows_what_was_taken(call, *told.answer) ||
                     attempts.executed(call.attempt(), told.answer->now, server.clock(), now);
  if (call.why == remote::Purpose::look) return;
  told.hold = grants_.note(request, call.asked, *told.answer);
}

void Answers::matched_release(Server& server, const Call& call, Instant now) {
  Server::Told& told = server.told();
  Attempts& attempts = parts_.attempts;
  const HoldId& hold = call.releasing().hold();
  const Acquisition* const next = call.releasing().successor().get();
  const bool has_time = told.release->now != ServerTime{};
  if (now == Instant{} && (has_time || next != nullptr)) now = parts_.now();
  if (has_time) server.identity().time().read(call.asked, told.release->now, now);
  // As nearly always. It is released, whether a copy was lost before or not.
  if (told.release->outcome == ReleaseAnswer::Outcome::freed && !told.release->successor &&
      server.told().news.note({.attempt = hold.attempt, .number = hold.number})) {
    return;
  }
  const Attempts::Lock lock(attempts);
  told.release_in_doubt = attempts.released(hold.attempt, hold.number);
  if (next == nullptr || !told.release->successor) return;
  told.looks_later =
      told.release->successor->kind == Answer::Kind::too_late ||
      attempts.executed(next->request().attempt, told.release->now, server.clock(), now);
  told.hold = grants_.note(next->request(), call.asked, *told.release->successor);
}

void Answers::answered(Server& server, const Call& call, const Reply& reply) {
  if (call.kind == Call::Kind::slots) return parts_.topology->answered_route(server, reply);
  if (reply.is_error()) return refused(server, call, reply);
  if (reply.kind != Reply::Kind::array) return nonsense(server, call);
  if (server.told().looks_later) parts_.polling->sooner();
  switch (call.kind) {
    case Call::Kind::renew: return renewal(server, call, reply);
    case Call::Kind::release: return release(server, call);
    case Call::Kind::force: return force(server, call);
    case Call::Kind::list: return list(server, call, reply);
    case Call::Kind::queue: return queue(server, call, reply);
    case Call::Kind::ask: return places(server, call, reply);
    default: break;
  }
  if (!server.told().answer) return nonsense(server, call);
  const Answer& answer = *server.told().answer;
  switch (call.kind) {
    case Call::Kind::inspect: return call.inspection().answered(answer.holder());
    case Call::Kind::check: return check(server, call);
    case Call::Kind::recall: return recall(call, answer);
    default: return about_attempt(server, call, answer);
  }
}

void Answers::about_attempt(Server& server, const Call& call, const Answer& answer) {
  if (call.why == remote::Purpose::look) return look(server, call, answer);
  // Its caller takes it back, whatever is noted of it.
  if (call.kind == Call::Kind::cancel && answer.kind == Answer::Kind::busy) {
    return grants_.ended(call.acquisition(), answer);
  }
  if (answer.kind == Answer::Kind::granted && parts_.gate == nullptr) {
    return grants_.granted(call.acquisition(), call.asked, answer, server.told().hold);
  }
  grants_.answered(server, call.shared_acquisition(), call.asked, answer);
}

// A waiter that asks again may be granted the lock by a message, lose it at once, and be granted it
// once more by the request. If that reply is lost with its connection, no client would know of the
// hold. So a client looks at each attempt whose request was lost, once the attempt is decided and
// the request is void: with a cancel, which answers a hold if there is one.
void Answers::look(Server& server, const Call& call, const Answer& answer) {
  if (answer.kind != Answer::Kind::granted) return parts_.attempts.settle(call.attempt());
  const Acquisition& operation = call.acquisition();
  if (parts_.gate != nullptr && !operation.done()) {
    // The grant waits for the replicas, whose answer this thread may have to read. Or there was no
    // memory to ask them. Or the client asks again, and the next answer has the same hold.
    const std::uint64_t number = parts_.attempts.number_of(call.attempt());
    if (number == answer.number) {
      grants_.answered(server, call.shared_acquisition(), call.asked, answer);
    } else if (number != 0) {
      remote::give_back(*parts_.exchange, operation.request(), answer.number);
    }
    return;
  }
  remote::found(*parts_.exchange, operation, answer.number);
}

void Answers::places(Server& server, const Call& call, const Reply& reply) {
  const auto& waiters = call.places().waiters();
  ServerTime at{};
  const std::vector<std::uint64_t> numbers =
      parse_codes(reply, "waiting", core::grant_number_limit - 1, &at);
  if (numbers.size() != waiters.size()) return nonsense(server, call);
  const Reading reading{call.asked, at, server.clock()};
  base::OneByOne each;
  each([&] { grants_.probe_inbox(server); });
  for (std::size_t i = 0; i < waiters.size(); ++i) {
    const AttemptId& attempt = waiters[i]->request().attempt;
    if (parts_.attempts.is_withdrawn(attempt)) continue;
    if (numbers[i] == 0) {
      each([&] { parts_.exchange->ask(waiters[i]); });
    } else if (const auto early = parts_.attempts.waits(attempt, reading, numbers[i])) {
      each([&] { grants_.believe(waiters[i], *early, reading); });
    }
  }
  each.finish();
}

void Answers::release(Server& server, const Call& call) {
  Server::Told& told = server.told();
  if (!told.release) return nonsense(server, call);
  const ReleaseAnswer answer = *std::move(told.release);
  const bool before = told.release_in_doubt;
  Release& release = call.releasing();
  // Its successor may be noted as the holder by now, and is to know.
  base::OneByOne each;
  if (RedissonSide* const beside = parts_.redisson_of(release.hold().mode)) {
    each([&] { beside->hearing().stop_holding(release.hold()); });
  }
  if (answer.successor && release.successor()) {
    each([&] { grants_.answered(server, release.successor(), call.asked, *answer.successor); });
  }
  // A run that was to have an outcome, and was freed only, has none, or it was forgotten since.
  const bool concluded = release.conclusion() != nullptr;
  using Outcome = ReleaseAnswer::Outcome;
  const bool has_none = concluded && answer.outcome == Outcome::freed_before;
  const Released outcome =
      remote::released_by(has_none ? Outcome::not_ours : answer.outcome, before);
  if (concluded && outcome == Released::unknown) {
    release.failed({Errc::in_doubt, parts_.describe() +
                                        ": the reply was lost, and the retry found neither the run"
                                        " nor its outcome; the first try may have succeeded"});
  } else {
    release.answered(outcome);
  }
  each.finish();
}

void Answers::renewal(Server& server, const Call& call, const Reply& reply) {
  Renewal& renewal = call.renewal();
  std::vector<Renewal::Item>& items = renewal.items();
  const std::vector<std::uint64_t> codes = parse_codes(reply, "renewed", 3);
  if (codes.size() != items.size()) return nonsense(server, call);
  if (renewal.done()) return;
  for (std::size_t i = 0; i < items.size(); ++i) {
    items[i].answer = codes[i] == 0 ? Renewal::Answer::lost : Renewal::Answer::renewed;
    items[i].wanted = codes[i] == 2;
    if (codes[i] == 3) items[i].answer = Renewal::Answer::unknown;
    items[i].counted_from = call.asked;
    items[i].granted = items[i].lease;
  }
  if (parts_.gate != nullptr) {
    return parts_.gate->pass(server.clock(), std::static_pointer_cast<Renewal>(call.operation));
  }
  parts_.attempts.renewed(items);
  renewal.answered();
}

// An earlier copy of the request may have ended the hold.
void Answers::force(Server& server, const Call& call) {
  const std::optional<ReleaseAnswer>& told = server.told().release;
  if (!told) return nonsense(server, call);
  const Released if_over = call.copies ? Released::unknown : Released::was_lost;
  const bool ended = told->outcome == ReleaseAnswer::Outcome::freed;
  call.releasing().answered(ended ? Released::released : if_over);
}

// The key was run in between: then the record that it has now is to be forgotten. Otherwise the
// record is forgotten, by this request or an earlier copy of it, or the server keeps it, because
// the key is held.
void Answers::recall(const Call& call, const Answer& answer) {
  Recollection& its = call.recollection();
  if (its.done()) return;  // its caller has gone
  const std::shared_ptr<const Record>& record = answer.record;
  const bool stays = record->state != KeyState::absent &&
                     (!call.found || call.found->record->number != record->number);
  if (call.copies && record->held && call.found->record->number != record->number) {
    return its.failed({Errc::in_doubt, parts_.describe() +
                                           ": the reply was lost, and the key runs again; the"
                                           " first try may have forgotten it"});
  }
  if (its.kind() == Recollection::Kind::forget && stays) {
    return parts_.exchange->submit(
        Call::recall(call.operation, std::make_shared<const Answer>(answer), parts_.now()));
  }
  its.answered(record);
}

// A waiter gets to know by the inbox. So a client that may not listen should not learn that from
// the first lock that is not free.
// @return false: not yet, and the check goes on when it is
bool Answers::is_inbox_known(Server& server, const Call& call) {
  const auto& check = static_cast<const Check&>(*call.operation);
  if (!check.client()) return true;  // no client that could wait
  Call again = call;
  again.wanted_inbox = true;
  if (!call.wanted_inbox) {
    parts_.polling->open_inbox(server, *check.client());
    server.inbox().renew();
  }
  if (server.inbox().state().is_up() || server.inbox().state().is_decided()) return true;
  if (!parts_.exchange->waiting().hold_up(server, std::move(again))) return true;
  if (server.inbox().state().is_up() || server.inbox().state().is_decided())
    go_on_checking(server);  // in between
  return false;
}

void Answers::go_on_checking(Server& server) {
  base::OneByOne each;
  for (const Call& call : parts_.exchange->waiting().take_held_up(server)) {
    each([&] { check(server, call); });
  }
  each.finish();
}

void Answers::check(Server& server, const Call& call) {
  const auto check = std::static_pointer_cast<Check>(call.operation);
  if (!is_inbox_known(server, call)) return;
  Failure why =
      server.inbox().state().is_up() ? Failure{} : server.inbox().state().why_deaf().get();
  if (!why) why = parts_.topology->stranger();
  if (why) return check->failed(std::move(why));
  if (parts_.gate == nullptr) return check->answered();
  parts_.gate->pass(server.clock(), check);
}

// A page of names is one look at a part of the database.
void Answers::list(Server& server, const Call& call, const Reply& reply) {
  const Listing& listing = call.listing();
  std::optional<ListCursor> list = parse_list(parts_.settings.prefix, listing.mode(), reply);
  if (!list) return nonsense(server, call);
  parts_.topology->answered_page(server, call, list->take(listing.limit(), listing.prefix()));
}

void Answers::queue(Server& server, const Call& call, const Reply& reply) {
  auto& look = static_cast<QueueLook&>(*call.operation);
  std::vector<HoldMark> marks;
  std::optional<NameQueue> queue = parse_queue(reply, &marks);
  if (!queue) return nonsense(server, call);
  look.answered(*std::move(queue), std::move(marks));
}

void Answers::nonsense(Server& server, const Call& call) {
  const Failure why(Errc::protocol, server.where() + ": the server sent an invalid reply");
  parts_.exchange->misread(server, call, why);
  server.commands().drop(why);
}

void Answers::refused(Server& server, const Call& call, const Reply& reply) {
  ServerError error = server_error(server.where(), reply.text);
  Operation& operation = *call.operation;
  if (parts_.topology->redirects(server, call, reply, error)) return;
  if (error.kind == ServerError::Kind::script && !call.written.whole) {
    if (operation.done() && call.kind != Call::Kind::cancel) return;
    // An attempt that was taken back in between must not come behind its own cancel.
    if (call.kind == Call::Kind::acquire && parts_.attempts.is_withdrawn(call.attempt())) return;
    server.commands().loaded().forget();
    Call again = call;
    again.written.whole = true;
    again.once = false;  // it was refused
    return parts_.exchange->submit(std::move(again));
  }
  error.failure.text += remedy(parts_.settings, reply.text, rights_beside(call.kind));
  if (error.kind == ServerError::Kind::elsewhere) {
    if (call.kind != Call::Kind::acquire) parts_.exchange->put(remote::alone(call));
    return server.commands().drop(error.failure);
  }
  if (call.kind == Call::Kind::renew && renews_apart(call, reply.text)) return;
  // A conclusion needs memory at the server. Its caller gets the error, and can repeat it.
  const bool unwritten = call.kind == Call::Kind::release && call.releasing().conclusion() &&
                         error.failure.code == Errc::exhausted;
  const bool final = error.kind == ServerError::Kind::final || unwritten;
  if (final && call.kind == Call::Kind::acquire && error.is_halfway()) {
    // A script may have failed halfway, also for want of a right. This copy is executed: nothing of
    // it comes late, and the cancel behind it, by the same connection, finds what it has left.
    call.operation->failed(std::move(error.failure));
    return parts_.exchange->abandon(call.shared_acquisition());
  }
  // An earlier copy of it may have ended the hold.
  if (call.kind == Call::Kind::force && call.copies) error.failure.code = Errc::in_doubt;
  parts_.exchange->refused(call, error.failure, final);
}

// A name that this user may not use any more has the whole batch refused: each hold goes alone
// then.
bool Answers::renews_apart(const Call& call, std::string_view words) {
  if (call.renewal().items().size() < 2 || what_is_refused(words) != Refused::key) return false;
  for (auto& part : parts_of(std::static_pointer_cast<Renewal>(call.operation))) {
    parts_.exchange->submit(Call::renew(std::move(part)));
  }
  return true;
}

}  // namespace mortise::redis
