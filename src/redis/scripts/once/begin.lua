-- SPDX-License-Identifier: MIT
-- Begins a run of a key, joins its queue, or returns what is remembered of it. A repeated request gets the same run.
-- A request that arrives after its deadline changes nothing: no client reads its reply any more.
--
-- The hash of a key has GRANT, the number of its last grant, and during a run OWNER, LEASE and LABEL: see fields.lua.
-- Its record is `run` (a counter of its runs: 1, 2, 3), `fingerprint`, and `forget_at`, the moment at which the record
-- is forgotten. The last conclusion is `outcome` (Y succeeded, F failed), `result`, and `outcome_grant`, the number of
-- the grant of its run. The conclusion is valid if `outcome_grant` is the number of the last grant, or if the field
-- `undone_grant` is that number: then the last run was undone. Otherwise the key is pending. Then `outcome_run` is the
-- run of that conclusion, and `outcome_forget_at` the moment at which it would have been forgotten. `has_waiters`: the
-- key may have a queue.
--
-- KEYS  1 the key
-- ARGV  1 attempt    2 deadline of this request: a moment of the server's clock, in us    3 lease in ms    4 label
--       5 its wish: does it run a key that has an outcome? f = after a failure, n = never, a = always
--       6 how long the record is kept, in ms    7 fingerprint
--       8 wait = join the queue if the key is run, try = do not; then after a space importing = in a cluster the slot
--         of the key is on its way to this server
--       9 the grant number of the conclusion that a message D named; '' = none
--       10 how long the number is remembered, in ms
-- @return {'granted', now, grant number, left in us, run}, {'too_late', now},
--         {'recorded', now, state, run, number, held, fingerprint, result}: the outcome; or the key has another
--         fingerprint, then `result` is '' and `held` is 1 if the key is run now. With the outcome `held` is 0, even if
--         the key is run again. The attempt is not queued. Or
--         {'queued', now, left in us, first, number, waiters, label}, or {'busy', ...} or {'resharding', ...} with
--         the same items. 'resharding': it could not be queued, see part/key_waiters.lua
local call, key = redis.call, KEYS[1]
local me, deadline, my_lease, my_label, wish, keep, my_fingerprint, words, named, remembered = unpack(ARGV)
-- include: fields.lua
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
if now > deadline + 0 then return {'too_late', now} end
local lease, grant, run, fingerprint, forget_at, concluded, outcome_grant, has_waiters, result = unpack(call('HMGET',
  key, LEASE, GRANT, 'run', 'fingerprint', 'forget_at', 'outcome', 'outcome_grant', 'has_waiters', 'result'))
local known = run and tonumber(forget_at) > now
if known and not lease and not has_waiters and outcome_grant == grant and my_fingerprint == fingerprint and
  (wish == 'n' or (wish == 'f' and concluded == 'Y')) then
  -- What is frequent: a valid outcome is the answer. The lines below would give the same one.
  return {'recorded', now, concluded == 'Y' and 'succeeded' or 'failed', run + 0, outcome_grant + 0, 0, fingerprint,
    result or ''}
end
local owner, label, undone_grant, outcome_run
if run or lease then
  owner, label, undone_grant, outcome_run = unpack(call('HMGET', key, OWNER, LABEL, 'undone_grant', 'outcome_run'))
end
local ends, first, queue_elsewhere = lease and grant + lease * 1000, nil, nil
local held = ends and ends > now
local importing = string.find(words, 'importing', 1, true)
if held and owner == me then return {'granted', now, grant + 0, ends - now, run + 0} end

known = known or (run and held)
local outcome = known and (outcome_grant == grant or undone_grant == grant) and concluded
local answers = known and concluded and (wish == 'n' or (wish == 'f' and concluded == 'Y') or
  (owner == me and outcome_grant == grant)) -- a late copy of the request that began the last run
local answer
if known and my_fingerprint ~= fingerprint then
  local state = outcome == 'Y' and 'succeeded' or outcome == 'F' and 'failed' or 'pending'
  answer = {'recorded', now, state, run + 0, (outcome and outcome_grant or grant) + 0, held and 1 or 0, fingerprint, ''}
elseif answers and ((outcome and not held) or outcome_grant == named) then
  -- The outcome is valid. Or a message has named it, and the key may be run again by now.
  local state = concluded == 'Y' and 'succeeded' or 'failed'
  answer = {'recorded', now, state, (outcome and run or outcome_run) + 0, outcome_grant + 0, 0, fingerprint,
    result or ''}
end

if answer and not has_waiters then return answer end

local queue, waiters, my_member = key .. ':queue', key .. ':waiters', wish .. me
local clock = time[1] .. string.sub('00000' .. time[2], -6)
if has_waiters then
  if answer then
    redis.pcall('ZREM', queue, my_member)
    redis.pcall('HDEL', waiters, me)
  end
  -- include: key_waiters.lua
end
if answer then return answer end
if held or queue_elsewhere or (first and first ~= my_member) then
  -- include: join_key.lua
end

if first or (has_waiters and type(redis.pcall('ZSCORE', queue, my_member)) == 'string') then
  redis.pcall('ZREM', queue, my_member)
  redis.pcall('HDEL', waiters, me)
end
local max_grant = tonumber(grant or 0)
-- include: number.lua
-- A waiter may still ask for that outcome by its number, and it is valid again if this run is undone.
if outcome then call('HSET', key, 'outcome_run', run, 'outcome_forget_at', forget_at) end
run = known and run + 1 or 1
call('HSET', key, OWNER, me, LEASE, string.format('%.0f', my_lease - ahead), GRANT, new_grant, LABEL, my_label, 'run',
  string.format('%.0f', run), 'fingerprint', my_fingerprint, 'forget_at', string.format('%.0f', now + keep * 1000))
if concluded and not known then
  call('HDEL', key, 'outcome', 'outcome_grant', 'undone_grant', 'outcome_run', 'outcome_forget_at', 'result')
end
-- A number that is ahead of the clock is remembered until the clock has reached it.
call('PEXPIRE', key, string.format('%.0f', math.max(keep + 0, my_lease + remembered) + ahead))
return {'granted', now, new_max_grant, my_lease * 1000, run}
