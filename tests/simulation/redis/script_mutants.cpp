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
     "redis/release.lua", "local is_holder = owner == holder and grant == its_grant",
     "local is_holder = owner"},
    {"redis.one_permit_too_many", "One more than there are is given (S1).",
     "redis/part/hand_over.lua", "or (not is_owned and reader_count < reader_limit)",
     "or (not is_owned and reader_count <= reader_limit)"},
    {"redis.one_permit_too_many", "The same for the next one.", "redis/part/hand_over.lua",
     "or reader_count >= reader_limit)) then\nstop", "or reader_count > reader_limit)) then\nstop"},
    {"redis.release_without_number_check",
     "A release knows the attempt only: a late one frees the attempt's newer hold (S3).",
     "redis/release.lua", "owner == holder and grant == its_grant", "owner == holder"},
    {"redis.renew_without_owner_check",
     "A renewal is confirmed whoever holds the lock: who was robbed believes on (S1, S3).",
     "redis/renew.lua", "f[2] and f[3] == its_grant and f[1] == me and now - its_grant",
     "f[2] and now - f[3]"},
    {"redis.renewal_revives_what_ended",
     "A late renewal takes up a hold that has lapsed or was freed: the name is blocked (S4, L1).",
     "redis/renew.lua",
     "local held_us = f[2] and f[3] == its_grant and f[1] == me and now - its_grant\nif held_us "
     "and "
     "f[2] * 1000 > held_us then",
     "local held_us = f[3] == its_grant and f[1] == me and now - its_grant\nif held_us then"},
    {"redis.number_falls_with_the_clock",
     "A grant's number is the clock alone: when that steps back, so do tokens (S2).",
     "redis/part/number.lua", "if max_grant >= now then", "if false then"},
    {"redis.told_but_not_granted",
     "A release tells the first waiter that the lock is its own, and leaves it free (S1).",
     "redis/part/grant.lua",
     "if type(receivers) == 'number' and receivers > 0 then\nmax_grant = new_max_grant",
     "if not asks and type(receivers) == 'number' and receivers > 0 then\nstop = "
     "true\nbreak\nelseif "
     "type(receivers) == 'number' and receivers > 0 then\nmax_grant = new_max_grant"},
    {"redis.told_but_not_granted", "The same for the first waiter.", "redis/release.lua",
     "call('HDEL', waiters, attempt)\ncall('HSET', key, OWNER",
     "call('HDEL', waiters, attempt)\nlocal _ = false and call('HSET', key, OWNER"},
    {"redis.place_is_left_behind",
     "A waiter that was served keeps its fields next to the lock, which grow for ever.",
     "redis/part/grant.lua", "call('HDEL', waiters, attempt)\nremoved, waiter_count",
     "removed, waiter_count"},
    {"redis.place_is_left_behind", "The same for the first waiter.", "redis/release.lua",
     "call('ZREM', queue, front[1])\ncall('HDEL', waiters, attempt)\n",
     "call('ZREM', queue, front[1])\n"},
    {"redis.void_is_not_looked_at",
     "A request is executed however late it comes: the hold is nobody's (S5, L1).",
     "redis/acquire.lua", "if now > deadline + 0 then return {'too_late', now} end", ""},
    {"redis.void_is_not_looked_at", "The same for the successor of a release.", "redis/release.lua",
     "if now > deadline + 0 then me = nil end", ""},
    {"redis.newcomer_overtakes",
     "Who comes when the lock is free takes it before those who wait (L5).", "redis/part/take.lua",
     "(order == 'unfair' and not rank", "(not rank"},
    {"redis.newcomer_overtakes", "The same if it does not look whether any client waits.",
     "redis/acquire.lua", "local is_plain = not readers_until and (tries",
     "local is_plain = (tries"},
    {"redis.dead_waiter_blocks_the_queue",
     "The queue stops at a waiter that is silent: who stands behind it is never served (L5).",
     "redis/part/hand_over.lua", "if not contact then\ncall('ZREM', queue, member)",
     "if not contact then\nstop = true\nbreak\nelseif false then\ncall('ZREM', queue, member)"},
    {"redis.provisional_lease_is_the_whole_lease",
     "A waiter that dies unnoticed keeps what it was told for its whole lease (L1).",
     "redis/part/waiter.lua", "if contact and new_lease + 0 > 2000 then new_lease = '2000' end",
     ""},
    {"redis.cancel_leaves_the_place",
     "Who takes its attempt back stays in the queue, and is handed the lock (L3).",
     "redis/cancel.lua",
     "local removed = redis.pcall('ZREM', queue, 'w' .. its_attempt, 'r' .. its_attempt, 'x' .. "
     "its_attempt)\nredis.pcall('HDEL', waiters, its_attempt)\n",
     "local removed = 0\n"},
    {"redis.asking_does_not_take",
     "A waiter that asks again does not get the free lock, but only by a push (L2).",
     "redis/part/hand_over.lua", "local asks, reads = member == my_member, its_mode == 'r'\n",
     "local asks, reads = member == my_member, its_mode == 'r'\nif asks and is_queued then\nstop = "
     "true\nbreak\nend\n"},
    {"redis.lease_ends_at_half",
     "The server counts half of a lease: it grants what its holder still believes in (S1).",
     "redis/part/own.lua", "LEASE, ahead == 0 and new_lease or",
     "LEASE, ahead == 0 and new_lease / 2 or"},
    {"redis.hold_without_the_key_is_dropped",
     "A hold of a client without interop does not count for one with it: both hold (S1).",
     "redis/part/open.lua", "(has_field or g[1] ~= grant)", "has_field"},
    {"redis.plain_release_hands_over_a_keyed_lock",
     "A client without interop hands the lock to one with it, and Redisson is not kept out (S1).",
     "redis/part/hand_over.lua", "or (its_mode == 'x' and not redisson_key))", "or false)"},
    {"redis.plain_release_hands_over_a_keyed_lock", "And it cannot write Redisson's key.",
     "redis/part/grant.lua", "if its_mode == 'x' then", "if its_mode == 'x' and redisson_key then"},
    {"redis.successor_is_told_twice",
     "A release grants its successor by its answer and by a push, which come in any order.",
     "redis/part/offer.lua",
     "asks and 1 or redis.pcall('PUBLISH',\nstring.match(key, '^[^{]*') .. 'inbox:' .. "
     "string.sub(attempt, 1, 16),\n'G '",
     "redis.pcall('PUBLISH', string.match(key, '^[^{]*') .. 'inbox:' .. string.sub(attempt, 1, "
     "16), "
     "'G '"},
    {"redis.key_without_an_end_is_asked_for_at_once",
     "A key of Redisson without a time to live has the first waiter ask 780 times a second.",
     "redis/part/open.lua", "(their_ttl < 0 and 3600000 or math.max(their_ttl, 1))",
     "math.max(their_ttl, 1)"},
    {"redis.force_release_deletes_a_strangers_key",
     "Any hash at the plain name counts as a lock of Redisson, and is deleted by force.",
     "redis/part/open.lua", "error('the key of that name is not a lock of Redisson')",
     "redisson_owner = redisson_owner or field"},
    {"redis.force_ends_whoever_holds",
     "A release by force does not look whose hold it ends: sent again, the next one's (S3).",
     "redis/force_release.lua", "elseif is_owned and not redisson_owner and which == grant then",
     "elseif is_owned and not redisson_owner then"},
    {"redis.force_leaves_the_hold",
     "A release by force raises the number of a hold and leaves its lease, which counts again "
     "(L7).",
     "redis/force_release.lua", "else\ncall('HDEL', key, LEASE)\n", "else\n"},
    {"redis.reader_revives_a_hold",
     "The lease of a hold that has lapsed counts again, from the number of a reader (L1).",
     "redis/part/admitted.lua", "call('HDEL', key, LEASE, 'max_grant')",
     "call('HDEL', key, 'max_grant')"},
    {"redis.nothing_is_kept_for_redisson",
     "Ours are always quicker than Redisson's waiters, which starve.", "redis/part/unfair.lua",
     "if receivers > 0 then\nis_reserved, notify_only",
     "receivers = 0\nif receivers > 0 then\nis_reserved, notify_only"},
    {"redis.reader_overtakes_a_writer",
     "Who comes to read joins those who do, whoever waits to write: that one starves (L6).",
     "redis/part/take.lua", "overtakes = beside_own_hold or (",
     "overtakes = beside_own_hold or (mode == 'r' and not is_owned and not rank) or ("},
    {"redis.readers_pass_a_writer",
     "Whoever reads is let in beside readers, also from behind a writer in the queue (L6).",
     "redis/part/hand_over.lua",
     "elseif not notify_only and not reads and reader_count > 0 then\nstop = true\nbreak\n",
     "elseif not notify_only and not reads and reader_count > 0 then\nexamined, skipped = examined "
     "+ "
     "1, skipped + 1\n"},
    {"redis.one_reader_is_let_in",
     "Of several readers that lead the queue the first is let in, and the others wait (L2).",
     "redis/part/grant.lua", "reader_count, admitted = reader_count + 1, admitted + 1",
     "stop = true\nreader_count, admitted = reader_count + 1, admitted + 1"},
    {"redis.number_of_a_reader_is_too_large",
     "A reader's number is larger than that of the next writer (S2).", "redis/part/grant.lua",
     "call('HSET', reader_info, attempt, new_grant,",
     "call('HSET', reader_info, attempt, string.format('%.0f', new_grant + 5000000),"},
    {"redis.number_of_a_reader_is_too_large", "And its client is told so.", "redis/part/grant.lua",
     "if asks then my_grant, notify_only = max_grant, false end",
     "if asks then my_grant, notify_only = max_grant + (reads and 5000000 or 0), false end"},
    {"redis.end_of_who_read_stays",
     "The lock is kept to the end of a lease whose reader has let go, though another's ends sooner "
     "(L1).",
     "redis/part/end_reader.lua",
     "if its_end > now then call('ZADD', readers, '-' .. clock, holder) end", ""},
    {"redis.lapsed_reader_excludes",
     "A writer waits for who let go last, and for the leases of the dead beside that one (L1).",
     "redis/part/open.lua", "call('ZCOUNT', readers, '(' .. clock, '+inf')",
     "call('ZCOUNT', readers, 1, '+inf')"},
    {"redis.others_read_beside_an_owner",
     "Where an owner's own client reads beside it, all others may as well (S1).",
     "redis/part/take.lua", "not redisson_owner and own_hold ~= '' and owner == own_hold",
     "not redisson_owner"},
    {"redis.reader_lets_go_for_all", "Who reads and lets go ends the holds of all who read (S1).",
     "redis/part/end_reader.lua",
     "if its_end > now and not readers_elsewhere then reader_count = reader_count - 1 end",
     "if its_end > now then\nfor _, each in ipairs(redis.call('ZRANGE', readers, 0, -1)) do "
     "redis.call('ZREM', readers, each) end\nreader_count = 0\nend"},
    {"redis.renewal_revives_a_reader",
     "A late renewal takes up a reader's hold that has lapsed (S4).", "redis/part/renew_reader.lua",
     "elseif its_end > now and stored_grant == its_grant then",
     "elseif its_end > 0 and stored_grant == its_grant then"},
    {"redis.slot_on_its_way_frees_readers",
     "A lock whose readers have not come with it counts as free (S1).", "redis/part/open.lua",
     "reader_count = math.min(reader_limit, 1000000)", "reader_count = 0"},
    {"redis.record_after_the_loss",
     "A conclusion is written whoever has the key by now: also that of a runner which has lost it.",
     "redis/once/conclude.lua",
     "if grant ~= ARGV[2] or (lease and owner ~= ARGV[1]) then return {'not_held', now} end", ""},
    {"redis.forgotten_while_pending",
     "A key that is forgotten while its runner is at work is run a second time beside it.",
     "redis/once/recall.lua", "if ARGV[1] == its_grant and not held then",
     "if ARGV[1] == its_grant then"},
    {"redis.another_fingerprint",
     "Whoever asks for a key is told of it, whatever it was asked for.", "redis/once/begin.lua",
     "if known and my_fingerprint ~= fingerprint then", "if false then"},
    {"redis.large_number_is_not_text",
     "A renewal writes a reader's end as a number of Lua, which Redis 7.2.4 may print as 1e+15.",
     "redis/part/renew_reader.lua",
     "call('ZADD', readers, string.format('%.0f', now + lease * 1000), me)",
     "call('ZADD', readers, now + lease * 1000, me)"},
    {"redis.two_runners", "Whoever asks for a key is to run it, though another one does (S1).",
     "redis/once/begin.lua", "local held = ends and ends > now", "local held = false"},
    {"redis.own_record_is_not_found",
     "A conclusion that is said again does not look whether it stands: it is said to be in doubt.",
     "redis/once/conclude.lua",
     "if concluded == letter and outcome_grant == ARGV[2] then return {'released', now} end", ""},
    {"redis.conclusion_tells_nobody",
     "Who waits for a key is not told of its outcome, and asks when a second is over (L2).",
     "redis/once/conclude.lua", "if answered then redis.pcall", "if false then redis.pcall"},
    {"redis.conclusion_tells_nobody", "Nor by whoever gives it on.", "redis/once/begin.lua",
     "if answered then redis.pcall", "if false then redis.pcall"},
    {"redis.turn_of_a_key_is_not_told",
     "Who is to run a key next is not told so, and asks when a second is over (L2).",
     "redis/once/conclude.lua",
     "local receivers = redis.pcall('PUBLISH', inbox, 'L ' .. attempt .. ' ' .. key)",
     "local receivers = 1"},
    {"redis.newcomer_overtakes", "The same of a key.", "redis/once/begin.lua",
     "if held or queue_elsewhere or (first and first ~= my_member) then",
     "if held or queue_elsewhere then"},
    {"redis.lease_ends_at_half", "The same of a key.", "redis/once/begin.lua",
     "LEASE, string.format('%.0f', my_lease - ahead)",
     "LEASE, string.format('%.0f', my_lease / 2)"},
    {"redis.force_ends_whoever_holds", "The same of a key.", "redis/once/force_release.lua",
     "if not held or grant ~= ARGV[1] then", "if not held then"},
    {"redis.void_is_not_looked_at",
     "A request for a key is executed however late it comes: the key is nobody's (S5, L1).",
     "redis/once/begin.lua", "if now > deadline + 0 then return {'too_late', now} end", ""},
    {"redis.lapsed_run_is_not_shown",
     "A look at a key does not show a run whose lease is over: nobody undoes it (O1, O3).",
     "redis/once/cancel.lua", "(held or is_unknown)", "held"},
    {"redis.copy_of_the_last_runner_runs",
     "A late copy of the request that began the last run begins another one (O3).",
     "redis/once/begin.lua", "(owner == me and outcome_grant == grant)", "false"},
    {"redlock.second_vote_while_held",
     "A server votes for an attempt although another has its vote (S1).", "redlock/acquire.lua",
     "local refused = owned and not has_vote", "local refused = false"},
    {"redlock.release_without_owner_check",
     "A release takes whatever vote stands: a late one takes a stranger's (S1, S3).",
     "redlock/release.lua",
     "if f[1] == me and (ARGV[2] == '' or f[3] == ARGV[2]) and tonumber(f[4]) <= step then",
     "if f[1] then"},
    {"redlock.undo_of_an_earlier_round_frees",
     "What takes an earlier round back frees the vote that the present one counts (S1, S5).",
     "redlock/release.lua", "and tonumber(f[4]) <= step then", "then"},
    {"redlock.number_of_the_client",
     "A vote has the number that was proposed: a slow clock's is smaller than an older one (S2).",
     "redlock/acquire.lua", "(number > max_grant and number or max_grant + 1)", "number"},
    {"redlock.reader_overtakes_a_writer",
     "A reader has the vote beside others, whoever waits to write: that one starves (L5).",
     "redlock/share.lua", "(owned or (ahead and not has_vote and not decided))", "owned"},
    {"redlock.readers_keep_each_other_out",
     "A vote for a reader is counted as one for an owner: nobody else reads (L6).",
     "redlock/share.lua", "(owned or (ahead and not has_vote and not decided))",
     "(owned or (read and not has_vote) or (ahead and not has_vote and not decided))"},
    {"redlock.owner_beside_readers", "A vote for a reader keeps no writer out: both hold (S1).",
     "redlock/acquire.lua", "refused = not has_vote and (owned or read or",
     "refused = not has_vote and (owned or"},
    {"redlock.number_of_a_reader_is_too_large",
     "A reader's number is larger than that of the next writer (S2).", "redlock/share.lua",
     "return {'vote', now, number}", "return {'vote', now, number + 5000000}"},
    {"redlock.number_of_a_reader_is_its_clients",
     "A reader has the number that was proposed, though a writer before it had a larger one (S2).",
     "redlock/share.lua", "if not decided then number = math.max(number, floor + 1) end", ""},
    {"redlock.vote_of_a_reader_stays",
     "A release of a reader's hold leaves the vote: no writer has the name before its lease ends "
     "(L1).",
     "redlock/release.lua", "redis.call('ZADD', readers, string.format('%.0f', -now), me)", ""},
    {"redlock.one_reader_is_told",
     "Of several that wait to read the first is told, and the others look a second later (L6).",
     "redlock/release.lua", "if not reads then break end\nnotified_a_reader = true",
     "if true then break end"},
    {"redlock.void_is_not_looked_at",
     "A request for a vote is executed however late it comes: the vote is nobody's (S5, L1).",
     "redlock/acquire.lua", "if now > tonumber(ARGV[3]) then return {'too_late', now} end", ""},
    {"redlock.void_is_not_looked_at", "The same for one who reads.", "redlock/share.lua",
     "if now > tonumber(ARGV[3]) then return {'too_late', now} end", ""},

});

std::size_t count_of(std::string_view part, std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string_view::npos; ++at) ++count;
  return count;
}

/// A script may include the same part several times: the mistake is made in each of them.
std::string replaced(std::string text, const ScriptMutant& mutant, std::size_t times) {
  if (count_of(mutant.find, text) != times) {
    throw std::logic_error(std::string(mutant.name) + " does not fit " + std::string(mutant.file) +
                           ", where this must stand once: " + std::string(mutant.find));
  }
  for (std::size_t at = 0; (at = text.find(mutant.find, at)) != std::string::npos;) {
    text.replace(at, mutant.find.size(), mutant.replace);
    at += mutant.replace.size();
  }
  return text;
}

}  // namespace

std::span<const ScriptMutant> script_mutants() { return mutants; }

std::string with_mistake(std::string_view whole, std::string_view name) {
  std::string text(whole);
  for (const ScriptFile& file : script_files()) {
    // Found in the text as it was sent: which files it is made of does not depend on patches.
    const std::size_t times = count_of(file.text, whole);
    if (times == 0) continue;
    for (const ScriptMutant& mutant : mutants) {
      if (mutant.name == name && mutant.file == file.name) {
        text = replaced(std::move(text), mutant, times);
      }
    }
  }
  return text;
}

}  // namespace simulation::redis
