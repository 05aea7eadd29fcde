// SPDX-License-Identifier: MIT
// Deliberate mistakes in the model's copy of the SQL functions: the simulation must find each.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace simulation::postgres {

enum class Mistake : std::uint8_t {
  none,
  release_ignores_attempt,
  renew_revives,
  number_by_clock_only,
  number_never_by_clock,
  void_is_not_looked_at,
  locked_row_is_free,
  no_second_look,
  guard_looks_before_it_locks,
  guard_does_not_lock,
  grant_not_on_disk,
  never_told,
  nobody_waits,
  cancel_leaves_ticket,
  cancel_leaves_hold,
  tickets_last_for_ever,
  take_in_wrong_turn,
  freed_before_is_lost,
  renew_not_on_disk,
  release_waits_for_notify,
  lock_timeout_bounds_notify,
  own_hold_is_busy,
  undo_leaves_the_key_pending,
  lapsed_copy_is_left,
  cancel_misses_an_insertion,
  looks_wait_for_the_disk,
  grant_behind_a_waiter_not_on_disk,
  // Of those who share a name.
  reader_overtakes_a_writer,
  one_reader_is_told,
  lapsed_reader_excludes,
  one_permit_too_many,
  permit_counted_twice,
  permit_lost_with_its_client,
  number_of_a_reader_is_too_large,
  writer_is_not_seen_to_wait,
  second_reader_kept_out,
  one_reader_lets_go_for_all,
  // Of keys.
  outcome_recorded_after_the_loss,
  outcome_not_on_disk,
  sweep_removes_what_is_run,
  forgets_whatever_it_finds,
  two_run_a_key,
  last_runner_runs_again,
  any_request_is_answered,
  one_is_told_of_an_outcome,
  forgets_numbers_of_removed_keys,
};

struct MistakeName {
  Mistake mistake;
  std::string_view name;
  std::string_view words;
};

constexpr std::array mistake_names{
    MistakeName{Mistake::release_ignores_attempt, "postgres.release_ignores_attempt",
                "release() frees whoever's hold it finds"},
    MistakeName{Mistake::renew_revives, "postgres.renew_revives",
                "renew() moves the end of a hold that has lapsed already"},
    MistakeName{Mistake::number_by_clock_only, "postgres.number_by_clock_only",
                "a grant's number is the clock, which an administrator may set back"},
    MistakeName{Mistake::number_never_by_clock, "postgres.number_never_by_clock",
                "a grant's number is one more than the last, which a fail-over may forget"},
    MistakeName{Mistake::void_is_not_looked_at, "postgres.void_is_not_looked_at",
                "take() grants to a request that comes after its moment"},
    MistakeName{Mistake::locked_row_is_free, "postgres.locked_row_is_free",
                "take() waits for a locked row and goes by what it saw before"},
    MistakeName{Mistake::no_second_look, "postgres.no_second_look",
                "take() does not look at the row again once it has it locked"},
    MistakeName{Mistake::guard_looks_before_it_locks, "postgres.guard_looks_before_it_locks",
                "guard() reads the clock before it waits for the row"},
    MistakeName{Mistake::guard_does_not_lock, "postgres.guard_does_not_lock",
                "guard() reads the row and leaves it unlocked"},
    MistakeName{Mistake::grant_not_on_disk, "postgres.grant_not_on_disk",
                "a grant is told before it is on disk"},
    MistakeName{Mistake::never_told, "postgres.never_told", "a release tells nobody"},
    MistakeName{Mistake::nobody_waits, "postgres.nobody_waits",
                "who waits is not written into the lock's row"},
    MistakeName{Mistake::cancel_leaves_ticket, "postgres.cancel_leaves_ticket",
                "cancel() leaves the ticket of who has gone"},
    MistakeName{Mistake::cancel_leaves_hold, "postgres.cancel_leaves_hold",
                "cancel() says that nothing is left where it is the owner"},
    MistakeName{Mistake::tickets_last_for_ever, "postgres.tickets_last_for_ever",
                "a ticket whose owner was not heard of stays the first"},
    MistakeName{Mistake::take_in_wrong_turn, "postgres.take_in_wrong_turn",
                "take() grants a free lock to who comes, whoever waits"},
    MistakeName{Mistake::freed_before_is_lost, "postgres.freed_before_is_lost",
                "a repeated release says that the hold was somebody else's"},
    MistakeName{Mistake::renew_not_on_disk, "postgres.renew_not_on_disk",
                "a renewal is told before it is on disk"},
    MistakeName{
        Mistake::release_waits_for_notify, "postgres.release_waits_for_notify",
        "release() tells who waits by itself, and so waits for the notifications of others"},
    MistakeName{Mistake::lock_timeout_bounds_notify, "postgres.lock_timeout_bounds_notify",
                "the time-out of row locks ends the wait for the notifications of others, too"},
    MistakeName{Mistake::own_hold_is_busy, "postgres.own_hold_is_busy",
                "a try that is repeated finds its own hold, and tells of it as of another one's"},
    MistakeName{Mistake::undo_leaves_the_key_pending, "postgres.undo_leaves_the_key_pending",
                "the outcome that stood before a run that no client knows of is forgotten"},
    MistakeName{Mistake::lapsed_copy_is_left, "postgres.lapsed_copy_is_left",
                "cancel_key() leaves a run that no client knows of, since its lease is over"},
    MistakeName{Mistake::cancel_misses_an_insertion, "postgres.cancel_misses_an_insertion",
                "cancel() says that nothing is left while a request of its own inserts the row"},
    MistakeName{Mistake::looks_wait_for_the_disk, "postgres.looks_wait_for_the_disk",
                "who has to wait, or has gone, keeps the row locked until that is on disk"},
    MistakeName{Mistake::grant_behind_a_waiter_not_on_disk,
                "postgres.grant_behind_a_waiter_not_on_disk",
                "a grant whose transaction began with somebody who has to wait is not on disk"},
    MistakeName{Mistake::reader_overtakes_a_writer, "postgres.reader_overtakes_a_writer",
                "take_share() admits a reader behind a writer that waits"},
    MistakeName{Mistake::one_reader_is_told, "postgres.one_reader_is_told",
                "of the readers that lead a queue only the first one is told"},
    MistakeName{Mistake::lapsed_reader_excludes, "postgres.lapsed_reader_excludes",
                "a renewal moves the ends of all who share a name, also of the dead"},
    MistakeName{Mistake::one_permit_too_many, "postgres.one_permit_too_many",
                "take_share() grants one permit more than there are"},
    MistakeName{Mistake::permit_counted_twice, "postgres.permit_counted_twice",
                "take_share() counts who has a permit once more where several have one"},
    MistakeName{Mistake::permit_lost_with_its_client, "postgres.permit_lost_with_its_client",
                "a permit does not come back when the lease of a dead client is over"},
    MistakeName{Mistake::number_of_a_reader_is_too_large,
                "postgres.number_of_a_reader_is_too_large",
                "a reader is told a number larger than that of the next writer"},
    MistakeName{Mistake::writer_is_not_seen_to_wait, "postgres.writer_is_not_seen_to_wait",
                "readers join those who read for as long as they like, whoever waits to write"},
    MistakeName{Mistake::second_reader_kept_out, "postgres.second_reader_kept_out",
                "who reads a name alone is taken for an owner"},
    MistakeName{Mistake::one_reader_lets_go_for_all, "postgres.one_reader_lets_go_for_all",
                "the release of one reader frees the name of all"},
    MistakeName{Mistake::outcome_recorded_after_the_loss,
                "postgres.outcome_recorded_after_the_loss",
                "conclude_key() records the outcome of a run that has lost the key"},
    MistakeName{Mistake::outcome_not_on_disk, "postgres.outcome_not_on_disk",
                "an outcome is told as recorded before it is on disk"},
    MistakeName{Mistake::sweep_removes_what_is_run, "postgres.sweep_removes_what_is_run",
                "a key that is run is forgotten when its time is over"},
    MistakeName{Mistake::forgets_whatever_it_finds, "postgres.forgets_whatever_it_finds",
                "forget_key() forgets a later run than the one that was looked at"},
    MistakeName{Mistake::two_run_a_key, "postgres.two_run_a_key",
                "begin_key() makes a second runner beside the first"},
    MistakeName{Mistake::last_runner_runs_again, "postgres.last_runner_runs_again",
                "begin_key() has an attempt run a key once more that it has concluded"},
    MistakeName{Mistake::any_request_is_answered, "postgres.any_request_is_answered",
                "the outcome of one request is told to another one"},
    MistakeName{Mistake::one_is_told_of_an_outcome, "postgres.one_is_told_of_an_outcome",
                "of those who wait for an outcome only the first one is told"},
    MistakeName{Mistake::forgets_numbers_of_removed_keys,
                "postgres.forgets_numbers_of_removed_keys",
                "a key that was removed begins again with the clock's number"},
};

[[nodiscard]] constexpr std::optional<Mistake> mistake_of(std::string_view name) noexcept {
  for (const MistakeName& each : mistake_names) {
    if (each.name == name) return each.mistake;
  }
  return std::nullopt;
}

}  // namespace simulation::postgres
