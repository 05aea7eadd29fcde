// SPDX-License-Identifier: MIT
#include "simulation/redis/script_mutants.hpp"

#include "simulation/redis/script_files.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace simulation::redis {
namespace {

constexpr auto mutants = std::to_array<ScriptMutant>({
    {"redis.release_without_owner_check",
     "A release frees whatever hold stands: a late one frees a stranger's (S1, S3).",
     "redis/release.lua", "if hold() == ARGV[1] then", "if owner then"},
    {"redis.release_without_owner_check", "The same for what the quick way answers.",
     "redis/release_quick.lua", "local ours = f[2] and o and", "local ours = f[2] and o or"},
    {"redis.one_permit_too_many", "One more than there are is given (S1).", "redis/readers.lua",
     "not permits or live() < permits", "not permits or live() <= permits"},
    {"redis.release_without_number_check",
     "A release knows the attempt only: a late one frees the attempt's newer hold (S3).",
     "redis/release.lua", "if hold() == ARGV[1] then",
     "if owner and owner == string.match(ARGV[1], ' (%S+)') then"},
    {"redis.renew_without_owner_check",
     "A renewal is confirmed whoever holds the lock: who was robbed believes on (S1, S3).",
     "redis/renew.lua", "if held and hold() == ARGV[a] then", "if held then"},
    {"redis.renew_without_owner_check", "The same in the quick way.", "redis/renew_quick.lua",
     "if f[1] and f[2] and sub(f[1], 1, #hold) == hold then", "if f[1] and f[2] then"},
    {"redis.renewal_revives_what_ended",
     "A late renewal takes up a hold that has lapsed or was freed: the name is blocked (S4, L1).",
     "redis/renew.lua", "if held and hold() == ARGV[a] then", "if hold() == ARGV[a] then"},
    {"redis.renewal_revives_what_ended", "The same in the quick way.", "redis/renew_quick.lua",
     "stands = ends > least", "stands = true"},
    {"redis.number_falls_with_the_clock",
     "A grant's number is the clock alone: when that steps back, so do tokens (S2).",
     "redis/lock.lua", "number = math.max(number + 1, now)", "number = now"},
    {"redis.number_falls_with_the_clock", "The same for what a waiter is told.", "redis/queue.lua",
     "digits(math.max(number + 1, now)) .. ' ' .. digits(now) .. ' ' .. lease",
     "digits(now) .. ' ' .. digits(now) .. ' ' .. lease"},
    {"redis.told_but_not_granted",
     "A release tells the first waiter that the lock is its own, and leaves it free (S1).",
     "redis/release_quick.lua", "if type(told) == 'number' and told > 0 then",
     "if type(told) == 'number' and told > 0 then\ndo return 'F' end"},
    {"redis.place_is_left_behind",
     "A waiter that was served keeps its fields in the lock's hash, which grows for ever.",
     "redis/release_quick.lua",
     "redis.call('HDEL', key, attempt, '#' .. f[4], 'g', f[3] == '1' and 'w' or '-')",
     "redis.call('HDEL', key, 'g', f[3] == '1' and 'w' or '-')"},
    {"redis.late_copy_is_heard",
     "A late copy of an attempt that was sent again takes the lock for nobody (S5, L1).",
     "redis/tombstones.lua",
     "return mark and tonumber(step) < tonumber(string.match(mark, '^%d+'))", "return false"},
    {"redis.newcomer_overtakes",
     "Who comes when the lock is free takes it before those who wait (L5).", "redis/hold.lua",
     "barges = MODE == 'u' and not w and not held", "barges = not w and not held"},
    {"redis.newcomer_overtakes", "The same in the quick way.", "redis/acquire_quick.lua",
     "if not g and not f[3] and #now == 13", "if not g and #now == 13"},
    {"redis.dead_waiter_blocks_the_queue",
     "The queue stops at a waiter that is silent: who stands behind it is never served (L5).",
     "redis/queue.lua", "elseif w and now - w.contact > SILENCE then\ndequeue(w.attempt, at)",
     "elseif w and now - w.contact > SILENCE then\nredis.call('HSET', K, 'h', digits(over[1] and "
     "over[1].ticket or "
     "at))\n"
     "count()\ndo return false end"},
    {"redis.provisional_lease_is_the_whole_lease",
     "A waiter that dies unnoticed keeps what it was told for its whole lease (L1).",
     "redis/queue.lua", "local PROVISIONAL_LEASE = 2000", "local PROVISIONAL_LEASE = 86400000"},
    {"redis.provisional_lease_is_the_whole_lease", "The same in the quick way.",
     "redis/release_quick.lua", "if lease + 0 > 2000 then lease = '2000' end", ""},
    {"redis.cancel_leaves_the_place",
     "Who takes its attempt back stays in the queue, and is handed the lock (L3).",
     "redis/cancel.lua", "local w = waiting > 0 and waiter(ARGV[1])", "local w = nil"},
    {"redis.asking_does_not_take",
     "A waiter that asks again does not get the free lock, but only by a push (L2).",
     "redis/hold.lua", "if not all then all, further = settle(me) end",
     "if w then\nall = false\nelseif not all then\nall, further = settle(me)\nend"},
    {"redis.lease_ends_at_half",
     "The server counts half of a lease: it grants what its holder still believes in (S1).",
     "redis/lock.lua", "moment or now + lease * 1000, true, lease",
     "moment or now + lease * 500, true, lease"},
    {"redis.lease_ends_at_half", "The same in the quick way.", "redis/acquire_quick.lua",
     "owned or owned, 'g', ARGV[4])", "owned or owned, 'g', ARGV[4] / 2)"},
    {"redis.hold_without_the_key_is_dropped",
     "A hold of a client without interop does not count for one with it: both hold (S1).",
     "redis/lock.lua", "held = held and (ours or not keyed)", "held = held and ours"},
    {"redis.plain_release_hands_over_a_keyed_lock",
     "A client without interop hands the lock to one with it, and Redisson is not kept out (S1).",
     "redis/release_quick.lua", "now - contact < 3000000 and\nstring.byte(lease) ~= 48 then",
     "now - contact < 3000000 then"},
    {"redis.plain_release_hands_over_a_keyed_lock", "The same in the long way.", "redis/queue.lua",
     "elseif w and not w.plain and not w.reader and not R then", "elseif false then"},
    {"redis.successor_is_told_twice",
     "A release grants its successor by its answer and by a push, which come in any order.",
     "redis/release.lua",
     "if outcome == 'F' and not readers then free(successor, about > 1) else settle(successor) end",
     "if outcome == 'F' and not readers then free(nil, about > 1) else settle() end"},
    {"redis.look_counts_places",
     "A look ends after 64 places, also of those who left: the only waiter waits on a free lock "
     "(L2).",
     "redis/queue.lua", "while at < tail and at < head + PLACES and looks < LOOKS and admits(true)",
     "while at < tail and at < head + LOOKS and admits(true)"},
    {"redis.look_counts_places", "And so for who is only told to look.", "redis/queue.lua",
     "while at < tail and at < head + PLACES and looks < LOOKS and not told",
     "while at < tail and at < head + LOOKS and not told"},
    {"redis.look_counts_places", "And nobody is told to look again.", "redis/queue.lua",
     "return not stopped and at >= tail, not stopped and (moved or not over[1])",
     "return not stopped and at >= tail, nil, looks"},
    {"redis.look_counts_places", "Nor is the next one found where the first leaves.",
     "redis/queue.lua", "local at, last, found = head, math.min(tail, head + PLACES), false",
     "local at, last, found = head, math.min(tail, head + LOOKS), false"},
    {"redis.who_is_passed_over_stays_behind",
     "A dead waiter at the head keeps its place, and the others draw theirs out of sight: nobody "
     "is "
     "told (L2).",
     "redis/queue.lua", "local moved = close_up(over, at)", "local moved = false"},
    {"redis.tombstones_never_expire",
     "What tells of late copies is never forgotten: the slow ways stay open, the hash grows.",
     "redis/tombstones.lua", "if attempt and tonumber(till) > now then break end",
     "if attempt then break end"},
    {"redis.key_without_an_end_is_asked_for_at_once",
     "A key of Redisson without a time to live has the first waiter ask 780 times a second.",
     "redis/lock.lua", "(left < 0 and 3600000 or math.max(left, 1))", "math.max(left, 1)"},
    {"redis.force_release_deletes_a_strangers_key",
     "Any hash at the plain name counts as a lock of Redisson, and is deleted by force.",
     "redis/lock.lua",
     "if not is_lock(R) then error('the key of that name is not a lock of Redisson') end", ""},
    {"redis.force_ends_whoever_holds",
     "A release by force does not look whose hold it ends: sent again, the next one's (S3).",
     "redis/force_release.lua", "if not held or found ~= ARGV[3] then", "if not held then"},
    {"redis.nothing_is_kept_for_redisson",
     "Ours are always quicker than Redisson's waiters, which starve.", "redis/hold.lua",
     "if heard > 0 then\nkept = now + KEPT", "heard = 0\nif heard > 0 then\nkept = now + KEPT"},
    {"redis.record_after_the_loss",
     "A conclusion is written whoever has the key by now: also that of a runner which has lost it.",
     "redis/once/conclude.lua", "if hold() == ARGV[1] then", "if owner then"},
    {"redis.record_after_the_loss", "The same in the quick way.", "redis/once/conclude_quick.lua",
     "and f[1] and string.sub(f[1], 1, #hold) == hold and f[2]", "and f[1] and f[2]"},
    {"redis.forgotten_while_pending",
     "A key that is forgotten while its runner is at work is run a second time beside it.",
     "redis/once/recall.lua", "if ARGV[3] and state ~= 'A' and not held and",
     "if ARGV[3] and state ~= 'A' and"},
    {"redis.forgotten_while_pending", "And so it is where its time is over.",
     "redis/once/record.lua", "if last and its and (held or till * 1000 > now) then",
     "if last and its and till * 1000 > now then"},
    {"redis.another_fingerprint",
     "Whoever asks for a key is told of it, whatever it was asked for.", "redis/once/record.lua",
     "if its ~= fingerprint then return 'mismatch' end", ""},
    {"redis.another_fingerprint", "The same in the quick way.", "redis/once/begin_quick.lua",
     "if string.sub(f[1], at, at + #print - 1) == print and", "if"},
    {"redis.two_runners", "Whoever asks for a key is to run it, though another one does (S1).",
     "redis/once/begin.lua", "tell_answered(me)", "tell_answered(me)\nheld = false"},
    {"redis.said_again_without_its_outcome",
     "A conclusion that is said again after a lost answer frees the key and writes nothing.",
     "redis/once/conclude.lua", "local letter = string.match(string.sub(ARGV[2], 3, 3), '%u')",
     "local letter = string.sub(ARGV[2], 2, 2) == '0' and string.match(string.sub(ARGV[2], 3, 3), "
     "'%u') or nil"},
    {"redis.own_record_is_not_found",
     "A conclusion that is said again does not look whether it stands: it is said to be in doubt.",
     "redis/once/conclude.lua", "if letter and its_letter == letter and whose == ARGV[1] then",
     "if false then"},
    {"redis.conclusion_tells_nobody",
     "Who waits for a key is not told of its outcome, and asks when a second is over (L2).",
     "redis/once/record.lua", "if waiting <= 0 or state == 'A' or state == 'P' then return end",
     "do return end"},
    {"redis.conclusion_tells_nobody", "Nor by whoever gives it on.", "redis/once/record.lua",
     "redis.pcall('PUBLISH', inbox(w.attempt), words .. ' ' .. K)", ""},
    {"redis.reader_overtakes_a_writer",
     "Who comes to read joins those who do, whoever waits to write: that one starves (L6).",
     "redis/hold.lua", "may = may or (admits(reader) and waiting <= 0 and not kept)",
     "may = may or (admits(reader) and (waiting <= 0 or (reader and held)) and not kept)"},
    {"redis.readers_pass_a_writer",
     "Whoever reads is let in beside readers, also from behind a writer in the queue (L6).",
     "redis/queue.lua",
     "elseif w and not admits(w.reader) then\nover[#over + 1], stopped = w, true",
     "elseif w and not admits(w.reader) then\nover[#over + 1] = w"},
    {"redis.one_reader_is_let_in",
     "Of several readers that lead the queue the first is let in, and the others wait (L2).",
     "redis/queue.lua", "if w.reader then let_in = let_in + 1 end",
     "if w.reader then let_in, stopped = let_in + 1, true end"},
    {"redis.number_of_a_reader_is_too_large",
     "A reader's number is larger than that of the next writer (S2).", "redis/readers.lua",
     "add(attempt, number, now + lease * 1000)",
     "add(attempt, number + 5000000, now + lease * 1000)"},
    {"redis.end_of_who_read_stays",
     "The lock is kept to the end of a lease whose reader has let go, though another's ends sooner "
     "(L1).",
     "redis/readers.lua", "return math.max(last, beside or 0)",
     "return math.max(last, beside or 0, readers ~= '' and ends or 0)"},
    {"redis.lapsed_reader_excludes",
     "A writer waits for who let go last, and for the leases of the dead beside that one (L1).",
     "redis/readers.lua", "if last_end() > now then write_readers() else end_readers() end",
     "if readers ~= '' or beside then write_readers() else end_readers() end"},
    {"redis.others_read_beside_an_owner",
     "Where an owner's own client reads beside it, all others may as well (S1).",
     "redis/readers.lua", "reader and readers and not beside and", "reader and readers and"},
    {"redis.who_read_alone_is_forgotten",
     "Where a second one comes to read, the first is not noted any more (S1).", "redis/readers.lua",
     "if ends then add(named, number, ends) end", ""},
    {"redis.reader_lets_go_for_all", "Who reads and lets go ends the holds of all who read (S1).",
     "redis/readers.lua", "if last_end() > now then write_readers() else end_readers() end",
     "end_readers()"},
    {"redis.renewal_revives_a_reader",
     "A late renewal takes up a reader's hold that has lapsed (S4).", "redis/readers.lua",
     "if at and its_end > now then return its_number, its_end end",
     "if at then return its_number, its_end end"},
    {"redlock.second_vote_while_held",
     "A server votes for an attempt although another has its vote (S1).", "redlock/acquire.lua",
     "if held or (others and string.sub(ARGV[2], 4, 4) == '1') then",
     "if others and string.sub(ARGV[2], 4, 4) == '1' then"},
    {"redlock.release_without_owner_check",
     "A release takes whatever vote stands: a late one takes a stranger's (S1, S3).",
     "redlock/release.lua",
     "if not late and owner == me and "
     "(exact == '' or owner .. ' ' .. digits(number) == ARGV[1]) then",
     "if not late and owner then"},
    {"redlock.number_of_the_client",
     "A vote has the number that was proposed: a slow clock's is smaller than an older one (S2).",
     "redlock/acquire.lua", "number = math.max(largest + 1, tonumber(ARGV[6]))",
     "number = tonumber(ARGV[6])"},
    {"redlock.late_copy_is_heard",
     "A late copy of an attempt that was sent again votes for nobody (S5, L1).",
     "redis/tombstones.lua",
     "return mark and tonumber(step) < tonumber(string.match(mark, '^%d+'))", "return false"},
});

std::string replaced_once(std::string text, const ScriptMutant& mutant) {
  const std::size_t at = text.find(mutant.find);
  if (at == std::string::npos || text.find(mutant.find, at + 1) != std::string::npos) {
    throw std::logic_error(std::string(mutant.name) + " does not fit " + std::string(mutant.file) +
                           ", where this must stand once: " + std::string(mutant.find));
  }
  return text.replace(at, mutant.find.size(), mutant.replace);
}

}  // namespace

std::span<const ScriptMutant> script_mutants() { return mutants; }

std::string with_mistake(std::string_view whole, std::string_view name) {
  std::string text(whole);
  for (const ScriptFile& file : script_files()) {
    // Found in the text as it was sent: which files it is made of does not depend on patches.
    if (whole.find(file.text) == std::string_view::npos) continue;
    std::string patched(file.text);
    for (const ScriptMutant& mutant : mutants) {
      if (mutant.name != name || mutant.file != file.name) continue;
      patched = replaced_once(std::move(patched), mutant);
    }
    if (patched != file.text) text.replace(text.find(file.text), file.text.size(), patched);
  }
  return text;
}

}  // namespace simulation::redis
