// SPDX-License-Identifier: MIT
#include "postgres/call_writer.hpp"

#include "base/mutant.hpp"
#include "postgres/listener.hpp"
#include "postgres/polling.hpp"
#include "remote/outcome.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mortise::postgres {

bool CallWriter::send(Pool& pool, Flight& call) {
  const bool only_frees = base::mutant("postgres.repeated_conclusion_only_frees");
  if (only_frees && call.kind == Call::Kind::conclude && call.passage.left != Instant{}) {
    call.kind = Call::Kind::release;
  }
  if (call.asked == Instant{}) call.asked = parts_.now();
  for (;;) {
    const Pool::Choice chosen = pool.choose(call);
    if (chosen.connection == nullptr) return false;
    if (!admit(call)) {
      pool.done(call);
      return true;
    }
    const Connection::Sent sent = send_by(*chosen.connection, call);
    if (sent != Connection::Sent::sent) not_sent(call);
    if (sent == Connection::Sent::withdrawn) return true;
    if (sent == Connection::Sent::refused) continue;  // it is not up any more: the next one
    // The connection has a copy, which counts instead.
    call.is_counted = false;
    // After it was sent, so that a call that never left is not in doubt. The time is that of
    // before.
    if (call.kind == Call::Kind::acquire) call.acquisition().sent(call.asked);
    // Another thread may have begun to notify on that connection since it was chosen. Or the call
    // that this one had to follow was answered, and the reader of that answer saw no waiting call.
    if (pool.may_go_elsewhere(call, chosen) && !base::mutant("postgres.overtaken_by_notify")) {
      // Without memory, the next answer lets the call go on. An exception would send it once more.
      base::without_memory([this] { held_up(); });
    }
    return true;
  }
}

// It may be answered, and gone, as soon as it is sent.
Connection::Sent CallWriter::send_by(Connection& connection, Flight& call) const {
  Arguments arguments = prepare(call, connection.shown().is_pooled);
  Flights one;
  one.push_back(call);
  return connection.send(one, std::move(arguments));
}

// From now on a request of that attempt is under way, until it is answered or did not leave. An
// attempt has one, whatever it leaves for: its caller, a notification, a late answer, a loss.
bool CallWriter::admit(const Call& call) const {
  return call.kind != Call::Kind::acquire || parts_.attempts.asked(call.attempt());
}

// Two threads may ask for one attempt, one of them late. If the late request left after the release
// of the other thread's grant, or after a cancel, it would make an orphaned grant.
bool CallWriter::is_withdrawn(const Call& call) const {
  // An attempt that may have been granted already asks again until an answer counts.
  if (call.kind != Call::Kind::acquire || call.executed) return false;
  return call.operation->done() || parts_.attempts.is_withdrawn(call.attempt());
}

void CallWriter::not_sent(Flight& call) const {
  parts_.pool->done(call);
  if (call.kind != Call::Kind::acquire) return;
  const Instant now = parts_.now();
  // An earlier copy left, and may have been executed.
  if (std::exchange(call.executed, false)) {
    parts_.attempts.unanswered(call.shared_acquisition(), call.void_moment(now), now);
    return parts_.polling->sooner();
  }
  parts_.attempts.not_sent(call.attempt());
}

void CallWriter::relieve() const {
  Flights waiting = parts_.pool->relieve();
  // Handle all of them first, because the calls of a name follow the connection of counted calls.
  for (Flight& call : waiting) not_sent(call);
  parts_.exchange->send_again(std::move(waiting));
}

void CallWriter::held_up() const {
  if (parts_.polling->is_closed() || base::mutant("postgres.held_up_behind_notify")) return;
  relieve();
}

void CallWriter::note_lost(const Pool& /*pool*/, Flight& call) noexcept {
  const bool has_left = call.passage.left != Instant{};
  const Instant now = parts_.now();
  if (!has_left) {
    if (call.is_counted) not_sent(call);  // else it has waited since, and that was noted
  } else if (call.kind == Call::Kind::acquire) {
    parts_.attempts.unanswered(call.shared_acquisition(), call.void_moment(now),
                               call.passage.void_time.look_at(call.passage.left));
    call.executed = false;  // from now on that is noted there
  } else if (call.is_release()) {
    // The attempt of a hold that no caller wants may have another hold, or none.
    if (call.is_own()) call.executed = true;
    parts_.attempts.release_lost(call.releasing().hold(), now);
  } else if (call.kind == Call::Kind::force) {
    call.executed = true;
  }
  parts_.pool->done(call);
  if (parts_.attempts.next_look() != never) parts_.polling->sooner();
}

void CallWriter::break_lines() noexcept { parts_.pool->request(Connection::Request::give_up); }

void CallWriter::sooner() { parts_.polling->sooner(); }

Arguments CallWriter::prepare(Call& call, bool pooled) const {
  call.space = Mode::exclusive;
  call.passage.left = {};
  switch (call.kind) {
    case Call::Kind::acquire: return prepare_take(call, pooled);
    case Call::Kind::cancel: return prepare_cancel(call);
    case Call::Kind::release:
    case Call::Kind::conclude: return prepare_release(call, pooled);
    case Call::Kind::renew:
      call.text = Call::Text::renew;
      return Statements::renew(call.renewal().items());
    case Call::Kind::recall: return prepare_recall(call);
    case Call::Kind::inspect:
      call.text = Call::Text::inspect;
      return Statements::inspect(call.inspection().name());
    case Call::Kind::force:
      call.text = Call::Text::force_release;
      return Statements::force_release(call.releasing().hold());
    case Call::Kind::wake: call.text = Call::Text::wake; return prepare_wake(call);
    case Call::Kind::census:
      call.text = Call::Text::census;
      return Statements::census(static_cast<const Census&>(*call.operation).processes);
    case Call::Kind::list: {
      const auto& listing = static_cast<const Listing&>(*call.operation);
      call.text = Call::Text::list;
      call.space = space_of(listing.mode());
      return Statements::list(listing);
    }
    case Call::Kind::queue: {
      const auto& look = static_cast<const QueueLook&>(*call.operation);
      call.text = Call::Text::queue;
      call.space = space_of(look.mode());
      return Statements::queue(look.name(), look.limit());
    }
    case Call::Kind::check: break;
  }
  if (call.text == Call::Text::write) return Statements::write();
  if (call.text == Call::Text::written) return Statements::inspect({});
  call.text = Call::Text::check;
  return {};
}

Arguments CallWriter::prepare_take(Call& call, bool pooled) const {
  const Acquisition::Request& request = call.acquisition().request();
  const bool waits = is_notified(call.acquisition());
  call.space = space_of(request.mode);
  call.text = call.space == Mode::exclusive && !waits ? Call::Text::look : Call::Text::take;
  return request.mode == Mode::once ? parts_.statements.take_key(request, waits)
                                    : parts_.statements.take(request, waits, pooled);
}

Arguments CallWriter::prepare_cancel(Call& call) const {
  const Acquisition& operation = call.acquisition();
  const Acquisition::Request& request = operation.request();
  // Another thread has noted its grant, and completes it at this moment.
  if (call.why == remote::Purpose::look) remote::await_completion(operation);
  call.space = space_of(request.mode);
  call.text = Call::Text::cancel;
  // A cancel of a decided attempt is in doubt, even if the client has forgotten the loss.
  const bool is_decided = call.passage.is_decided = operation.done();
  const bool in_doubt = is_decided || parts_.attempts.is_in_doubt(request.attempt);
  if (request.mode != Mode::once) return Statements::cancel(request, in_doubt);
  // The answer to another request may still bring an undecided attempt its run.
  const std::int64_t known = is_decided ? static_cast<std::int64_t>(operation.grant().number) : -1;
  return Statements::cancel_key(request, in_doubt, known);
}

Arguments CallWriter::prepare_release(Call& call, bool pooled) {
  const HoldId& hold = call.releasing().hold();
  call.space = space_of(hold.mode);
  call.text = call.kind == Call::Kind::conclude ? Call::Text::conclude : Call::Text::release;
  if (call.kind == Call::Kind::conclude) {
    return Statements::conclude(hold, *call.releasing().conclusion());
  }
  return hold.mode == Mode::once ? Statements::release_key(hold, call.releasing().undoes())
                                 : Statements::release(hold, pooled);
}

Arguments CallWriter::prepare_recall(Call& call) {
  const std::string& key = call.recollection().key();
  call.space = Mode::once;
  const bool forgets = call.so_far.forgets != 0;
  call.text = forgets ? Call::Text::forget_key : Call::Text::look_key;
  if (forgets) ++call.so_far.forgotten;
  return forgets ? Statements::forget(key, call.so_far.forgets) : Statements::inspect(key);
}

Arguments CallWriter::prepare_wake(const Call& call) {
  std::vector<std::string> names;
  std::vector<std::string> keys;
  std::vector<std::string> semaphores;
  for (const Freed& each : static_cast<const Bell::Wake&>(*call.operation).names()) {
    auto& its = each.mode == Mode::once ? keys : each.mode == Mode::permit ? semaphores : names;
    its.push_back(each.name);
  }
  return Statements::wake(names, keys, semaphores);
}

// Whether a release is to notify this attempt, and readers are to let it in.
bool CallWriter::is_notified(const Acquisition& wanted) const {
  const Acquisition::Request& request = wanted.request();
  if (!request.wait || parts_.attempts.waiter(request.attempt, &Waiter::asks_last)) return false;
  const bool may_hear = parts_.listener->may_hear();
  // A waiter in a queue must be notified when its turn comes. If no waiter can, all look by time.
  if (parts_.settings.fair) return parts_.listener->listens() || !may_hear;
  // Readers do not know of a writer that looks by time, unless its request reports it. Otherwise
  // one reader after the other joins, and the writer never has its turn.
  const std::optional<Holder> holder = may_hear ? std::nullopt : wanted.holder();
  return may_hear || (request.mode == Mode::exclusive && holder && holder->mode == Mode::shared &&
                      !base::mutant("postgres.readers_overtake_who_looks_by_time"));
}

}  // namespace mortise::postgres
