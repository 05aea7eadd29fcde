// SPDX-License-Identifier: MIT
#include "postgres/answers.hpp"

#include "base/mutant.hpp"
#include "postgres/listing.hpp"
#include "postgres/server_error.hpp"

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace mortise::postgres {
namespace {

constexpr std::string_view lock_timed_out = "55P03";

bool is_for_others(ReleaseOutcome outcome) noexcept {
  return outcome == ReleaseOutcome::freed_for_others ||
         outcome == ReleaseOutcome::lapsed_for_others ||
         outcome == ReleaseOutcome::not_ours_for_others ||
         outcome == ReleaseOutcome::stands_for_others;
}

/// It was granted, perhaps, by a commit that was in doubt.
bool may_be_granted(const Call& call) {
  return call.kind == Call::Kind::acquire && call.executed &&
         !base::mutant("postgres.forget_what_was_in_doubt_before_it_failed");
}

}  // namespace

void Answers::answered(const Call& call, const Result& result) {
  if (result.kind() != Result::Kind::rows) return refused(call, result.error());
  switch (call.kind) {
    case Call::Kind::acquire:
    case Call::Kind::cancel:
      if (!grants_.answered(call, Answer::of(result))) nonsense(call);
      return;
    case Call::Kind::release:
    case Call::Kind::conclude: return release(call, result);
    case Call::Kind::renew: return renewal(call, result);
    case Call::Kind::force: return force(call, result);
    case Call::Kind::inspect: return inspection(call, result);
    case Call::Kind::recall: return recall(call, result);
    case Call::Kind::check: return check(call, result);
    case Call::Kind::census: return census(call, result);
    case Call::Kind::wake: return wake(call);
    case Call::Kind::list: return list(call, result);
    case Call::Kind::queue: return queue(call, result);
  }
}

void Answers::answered_late(const Call& call, const Result* result) {
  // Even if its caller has cancelled it: no other request of the bell leaves before this answer.
  if (call.kind == Call::Kind::wake) return wake(call);
  if (call.kind != Call::Kind::acquire || result == nullptr) return;
  if (const auto answer = Answer::of(*result)) grants_.answered_late(call, *answer);
}

void Answers::refused(const Call& call, const PqError& error) {
  const ServerError meaning = server_error(parts_.where(), error);
  const bool final = meaning.kind == ServerError::Kind::final;
  // Before it counts as answered: a caller that takes it back just now must know that it may have
  // been granted.
  if (may_be_granted(call)) {
    parts_.attempts.may_hold(call.shared_acquisition(), call.void_moment(parts_.now()));
  }
  if (call.kind == Call::Kind::acquire) parts_.attempts.waiter(call.attempt(), &Waiter::arrive);
  if (call.kind == Call::Kind::wake) return wake(call);  // waiters look by time
  const bool forces = call.kind == Call::Kind::force;
  if (error.state == lock_timed_out &&
      (forces || remote::fate_of_refused(call.purpose(), final) != remote::Fate::fail)) {
    // A lock was only waited for too long: see sql/take.sql.
    call.operation->trouble(meaning.failure);
    parts_.again_soon(call);
  } else {
    Failure why = meaning.failure;
    // An earlier copy of it may have ended the hold.
    if (forces && call.executed) why.code = Errc::in_doubt;
    parts_.exchange->refused(call, why, final);
  }
  if (meaning.kind == ServerError::Kind::elsewhere) {
    parts_.pool->request(Connection::Request::look);
  }
}

// It may have been executed or not, and no other request would free what it frees: as if no answer
// had come. This connection is kept, so the call is sent again after a pause.
void Answers::nonsense(const Call& call) {
  const Failure why(Errc::protocol, parts_.where() + ": the server sent an invalid reply");
  Flight lost = call;
  if (call.kind == Call::Kind::acquire) {  // it may be granted
    parts_.attempts.may_hold(call.shared_acquisition(), call.void_moment(parts_.now()));
  } else if (call.is_release()) {
    lost.executed = lost.executed || call.is_own();
    parts_.attempts.release_lost(call.releasing().hold(), parts_.now());
  }
  const bool fails = remote::fate_of_misread(call.purpose()) == remote::Fate::fail;
  parts_.exchange->refused(lost, why, fails);
}

void Answers::release(const Call& call, const Result& result) {
  const std::optional<ReleaseOutcome> read = release_outcome(result);
  if (!read) return nonsense(call);
  const ReleaseOutcome outcome = *read;
  const Release& release = call.releasing();
  const bool others = is_for_others(outcome);
  // By a copy that was not answered, or by a commit that was in doubt.
  const bool before = outcome != ReleaseOutcome::locked &&
                      (parts_.attempts.released(release.hold()) || call.executed);
  // The unanswered copy may have reported that other clients wait.
  const bool untold =
      before && (outcome == ReleaseOutcome::freed_before || outcome == ReleaseOutcome::stands);
  // First: a program may end as soon as it is answered.
  if (others || untold) parts_.ring(release.hold().mode, release.hold().name);
  complete(call, outcome, before);
  // Then: if there is no memory for that, the hold was released anyway, and a copy of its release
  // would find nothing.
  yields_.released(call, outcome, others);
}

void Answers::complete(const Call& call, ReleaseOutcome outcome, bool before) {
  Release& release = call.releasing();
  const std::shared_ptr<const Conclusion>& conclusion = release.conclusion();
  const bool writes_itself = conclusion && conclusion->written;
  switch (outcome) {
    case ReleaseOutcome::freed:
    case ReleaseOutcome::freed_for_others: return release.answered(Released::released);
    case ReleaseOutcome::freed_before:
      // If the run was concluded, the record shows the outcome.
      return release.answered(before || conclusion ? Released::released : Released::was_lost);
    case ReleaseOutcome::lapsed:
    case ReleaseOutcome::lapsed_for_others: return release.answered(Released::was_lost);
    case ReleaseOutcome::stands:
    case ReleaseOutcome::stands_for_others:
      // Another outcome is recorded. If its state were the same, the server would have confirmed
      // it.
      if (writes_itself && conclusion->written->state != conclusion->state) return release.stands();
      return release.failed(
          {Errc::in_doubt, parts_.where() + ": another outcome of the run is recorded"});
    case ReleaseOutcome::not_ours:
    case ReleaseOutcome::not_ours_for_others:
      if (writes_itself) {
        // It may have been committed, and forgotten since, or replaced by a later run.
        return release.failed(
            {Errc::in_doubt,
             parts_.where() +
                 ": the run's outcome is not recorded; it may have been forgotten or replaced"});
      }
      // The copy of which no answer came may have freed it, and another client have taken it since.
      return release.answered(before ? Released::unknown : Released::was_lost);
    case ReleaseOutcome::locked:
      if (!release.done()) parts_.again_soon(call);
  }
}

void Answers::renewal(const Call& call, const Result& result) {
  Renewal& renewal = call.renewal();
  std::vector<Renewal::Item>& items = renewal.items();
  const std::string_view answers = result.text(0).value_or("");
  if (answers.size() != items.size() ||
      answers.find_first_not_of("01W?") != std::string_view::npos) {
    return nonsense(call);
  }
  if (renewal.done()) return;
  const std::vector<std::size_t> places = Statements::owners_first(items);
  for (std::size_t answer = 0; answer < places.size(); ++answer) {
    const std::size_t i = places[answer];
    if (answers[answer] == '?' && !base::mutant("postgres.locked_row_counts_as_lost"))
      continue;  // its row was locked: unknown, and repeated
    items[i].answer = answers[answer] == '0' ? Renewal::Answer::lost : Renewal::Answer::renewed;
    items[i].wanted = answers[answer] == 'W' && items[i].hold.mode == Mode::shared;
    items[i].counted_from = call.asked;
    items[i].granted = items[i].lease;
  }
  parts_.attempts.renewed(items);
  renewal.answered();
}

void Answers::force(const Call& call, const Result& result) {
  const HoldId& hold = call.releasing().hold();
  // The copy that ended the hold may have woken no waiter. Before the answer, because the program
  // may end as soon as it has it.
  parts_.ring(space_of(hold.mode), hold.name);
  const Released if_over = call.executed ? Released::unknown : Released::was_lost;
  call.releasing().answered(result.rows() > 0 ? Released::released : if_over);
}

void Answers::inspection(const Call& call, const Result& result) {
  auto holder = holder_of(result);
  if (!holder) return nonsense(call);
  call.inspection().answered(std::move(*holder));
}

void Answers::recall(const Call& call, const Result& result) {
  const std::optional<Recalled> recalled = Recalled::of(result);
  if (!recalled) return nonsense(call);
  if (call.operation->done()) return;
  const Call::SoFar& so_far = call.so_far;
  if (recalled->locked) {
    Call again = call;
    if (again.so_far.forgotten > 0) --again.so_far.forgotten;  // nothing has happened
    return parts_.again_soon(again);
  }
  const Record& found = *recalled->record;
  if ((so_far.forgotten > 1 || call.executed) && found.state != KeyState::absent &&
      static_cast<std::int64_t>(found.number) != std::abs(so_far.forgets)) {
    return call.operation->failed(
        {Errc::in_doubt,
         parts_.where() +
             ": the reply was lost, and the key runs again; the first try may have forgotten it"});
  }
  const bool forgets = call.recollection().kind() == Recollection::Kind::forget &&
                       found.state != KeyState::absent && !found.held;
  if (!forgets || recalled->what() == so_far.forgets) {
    return call.recollection().answered(recalled->record);
  }
  // Names exactly that record: the server may execute it after a later run is recorded.
  Flight again = call;
  again.so_far = {.forgets = recalled->what()};
  parts_.exchange->send_again(remote::alone(std::move(again)));
}

void Answers::check(const Call& call, const Result& result) {
  if (call.text == Call::Text::write) {
    // All checks write one row, and another check has it now. The commit of that check proves the
    // same. Otherwise each of many checks at once would wait for all the others.
    if (result.text(1) == "L") return check_again(call, Call::Text::written);
    return static_cast<Check&>(*call.operation).answered();
  }
  if (call.text == Call::Text::written) {
    const std::int64_t number = result.rows() > 0 ? result.integer(0).value_or(0) : 0;
    if (call.so_far.seen >= 0 && number > call.so_far.seen) {
      return static_cast<Check&>(*call.operation).answered();
    }
    Call next = call;
    next.text = Call::Text::write;
    if (next.so_far.seen < 0) next.so_far.seen = number;
    return parts_.again_soon(next);
  }
  const std::optional<std::string_view> missing = result.text(0);
  if (!missing) return nonsense(call);
  // A full disk, or a standby that does not confirm, shows only when something is written.
  if (missing->empty()) return check_again(call, Call::Text::write);
  call.operation->failed({Errc::denied, parts_.where() + ": the role lacks " + one_line(*missing) +
                                            "; run 'mortise migrate' with --role, or "
                                            "application.sql"});
}

void Answers::check_again(const Call& call, Call::Text text) {
  Flight next = call;
  next.text = text;
  next.asked = parts_.now();
  parts_.exchange->submit(std::move(next));
}

void Answers::census(const Call& call, const Result& result) {
  const auto living = numbers_of(result);
  if (!living) return nonsense(call);
  parts_.pool->keep_stuck(static_cast<const Census&>(*call.operation).processes, *living);
}

void Answers::wake(const Call& call) {
  static_cast<Bell::Wake&>(*call.operation).told();
  parts_.ring_for_the_rest();
}

void Answers::list(const Call& call, const Result& result) {
  std::optional<NamePage> page = page_of(result);
  if (!page) return nonsense(call);
  static_cast<Listing&>(*call.operation).answered(*std::move(page));
}

void Answers::queue(const Call& call, const Result& result) {
  auto& look = static_cast<QueueLook&>(*call.operation);
  std::optional<NameQueue> queue = queue_of(result, look.limit(), parts_.settings.fair);
  if (!queue) return nonsense(call);
  look.answered(*std::move(queue));
}

}  // namespace mortise::postgres
