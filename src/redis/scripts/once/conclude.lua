-- SPDX-License-Identifier: MIT
-- Ends one run: writes its outcome, unless the run is given back or undone, and frees the key. It does so for exactly
-- that hold, and only while its lease lasts (U: also later). Then the waiters get their messages. Safe to repeat until
-- the next grant.
--
-- If memory is short, Redis refuses the first write, which has the outcome. So the run does not end without it.
--
-- KEYS  1 the key
-- ARGV  1 attempt    2 grant number of the run
--       3 Y succeeded, F failed, '' = given back without an outcome, U = undone: the client did not get this run,
--         because the request was executed late. The record is then as it was before the run, with the outcome that
--         stood. But if the key was pending before the run, the record is kept for as long as that run asked for
--       4 how long the outcome is kept, in ms    5 the result or the reason
--       6 how long the number is remembered, in ms    7 importing = the slot of the key is on its way to this server
--       8 '1' = the same request may run the key again after a success
-- @return {outcome, now}: 'released' (Y or F: even if an earlier copy did it), 'released_before' = it was released
--         without this outcome, or this repeats '' or U, 'expired' = its lease was over, 'not_held' = it does not have
--         the key
local call, key, letter = redis.call, KEYS[1], ARGV[3]
-- include: fields.lua
local time = call('TIME')
local now, clock = time[1] * 1000000 + time[2], time[1] .. string.sub('00000' .. time[2], -6)
local owner, lease, grant, concluded, outcome_grant, has_waiters = unpack(call('HMGET', key, OWNER, LEASE, GRANT,
  'outcome', 'outcome_grant', 'has_waiters'))
if concluded == letter and outcome_grant == ARGV[2] then return {'released', now} end
if grant ~= ARGV[2] or (lease and owner ~= ARGV[1]) then return {'not_held', now} end
if not lease then return {'released_before', now} end
local word, held, outcome, first, queue_elsewhere, my_member = 'released', false, false, nil, nil, ''
local importing = ARGV[7] == 'importing'
if letter == 'U' then
  call('HDEL', key, '-') -- see key_waiters.lua
  local run, outcome_run, outcome_forget_at = unpack(call('HMGET', key, 'run', 'outcome_run', 'outcome_forget_at'))
  if concluded and outcome_forget_at and run - outcome_run == 1 then
    call('HSET', key, 'run', outcome_run, 'undone_grant', grant, 'forget_at', outcome_forget_at)
    call('HDEL', key, 'outcome_run', 'outcome_forget_at')
    call('PEXPIRE', key, string.format('%.0f', math.max(math.ceil((outcome_forget_at - now) / 1000), ARGV[6] + 0) +
      math.max(0, math.ceil((grant - now) / 1000))))
    outcome = tonumber(outcome_forget_at) > now and concluded
  elseif tonumber(run) > 1 then -- the key was pending
    call('HSET', key, 'run', string.format('%.0f', run - 1))
  else
    call('HDEL', key, 'run', 'fingerprint', 'forget_at')
  end
elseif grant + lease * 1000 <= now then
  word = 'expired'
elseif letter ~= '' then
  outcome, outcome_grant = letter, grant
  call('HSET', key, 'outcome', letter, 'outcome_grant', grant, 'result', ARGV[5], 'forget_at',
    string.format('%.0f', now + ARGV[4] * 1000))
  local ahead = math.max(0, math.ceil((grant - now) / 1000)) -- see begin.lua
  call('PEXPIRE', key, string.format('%.0f', math.max(ARGV[4] + 0, ARGV[6] + 0) + ahead))
end
if word == 'expired' then
  -- A lease of minus the number: it ended at the moment 0. So it does not come back, even if the clock is set back. A
  -- repeat is answered 'expired' as well.
  call('HDEL', key, LABEL)
  call('HSET', key, LEASE, string.format('%.0f', -math.ceil(grant / 1000)))
elseif letter == 'F' or (letter == 'Y' and ARGV[8] == '1') then
  call('HDEL', key, LEASE, LABEL) -- OWNER stays: a late copy of its request gets the outcome
else
  call('HDEL', key, OWNER, LEASE, LABEL)
end
if has_waiters then
  local queue, waiters = key .. ':queue', key .. ':waiters'
  -- include: key_waiters.lua
end
return {word, now}
