-- SPDX-License-Identifier: MIT
-- Ends one run: writes its outcome, unless the run is given back, and frees the key. It does so for exactly that hold,
-- and only while its lease lasts. Then the waiters get their messages. Safe to repeat until the next grant.
--
-- If memory is short, Redis refuses the first write, which has the outcome. So the run does not end without it.
--
-- KEYS  1 the key
-- ARGV  1 attempt    2 grant number of the run
--       3 Y succeeded, F failed, '' = given back without an outcome, U = undone: the client did not get this run,
--         because the request was executed late. The record is then as it was before the run, with the outcome that
--         stood
--       4 how long the outcome is kept, in ms    5 the result or the reason
--       6 how long the number is remembered, in ms    7 'a' = the slot of the key is on its way to this server
--       8 '1' = the same request may run the key again after a success
-- @return {outcome, now}: 'freed' (even if an earlier copy did it), 'before' = it was freed without this outcome,
--         'lapsed' = its lease was over, 'none' = it does not have the key
local key, letter = KEYS[1], ARGV[3]
local time = redis.call('TIME')
local now, clock = time[1] * 1000000 + time[2], time[1] .. string.sub('00000' .. time[2], -6)
local owner, ms, number, concluded, outcome_of, crowd = unpack(redis.call('HMGET', key, 'owner', 'ms', 'number',
  'outcome', 'outcome_of', 'crowd'))
if concluded == letter and outcome_of == ARGV[2] then return {'freed', now} end
if number ~= ARGV[2] or (ms and owner ~= ARGV[1]) then return {'none', now} end
if not ms then return {'before', now} end
local word, held, outcome, first, apart, place, arrives = 'freed', false, false, nil, nil, '', ARGV[7] == 'a'
if letter == 'U' then
  redis.call('HDEL', key, '-') -- see key_waiters.lua
  local run, outcome_run, outcome_till = unpack(redis.call('HMGET', key, 'run', 'outcome_run', 'outcome_till'))
  if concluded and outcome_till and run - outcome_run == 1 then
    redis.call('HSET', key, 'run', outcome_run, 'stands', number, 'till', outcome_till)
    redis.call('HDEL', key, 'outcome_run', 'outcome_till')
    redis.call('PEXPIRE', key, string.format('%.0f', math.max(math.ceil((outcome_till - now) / 1000), ARGV[6] + 0) +
      math.max(0, math.ceil((number - now) / 1000))))
    outcome = tonumber(outcome_till) > now and concluded
  elseif tonumber(run) > 1 then -- the key was pending
    redis.call('HSET', key, 'run', string.format('%.0f', run - 1))
  else
    redis.call('HDEL', key, 'run', 'print', 'till')
  end
elseif number + ms * 1000 <= now then
  word = 'lapsed'
elseif letter ~= '' then
  outcome, outcome_of = letter, number
  redis.call('HSET', key, 'outcome', letter, 'outcome_of', number, 'result', ARGV[5], 'till',
    string.format('%.0f', now + ARGV[4] * 1000))
  local ahead = math.max(0, math.ceil((number - now) / 1000)) -- see begin.lua
  redis.call('PEXPIRE', key, string.format('%.0f', math.max(ARGV[4] + 0, ARGV[6] + 0) + ahead))
end
if word == 'lapsed' then
  -- Minus the number: the lease ended at the moment 0. So it does not come back, even if the clock is set back. A
  -- repeat is answered 'lapsed' as well.
  redis.call('HDEL', key, 'label')
  redis.call('HSET', key, 'ms', string.format('%.0f', -math.ceil(number / 1000)))
elseif letter == 'F' or (letter == 'Y' and ARGV[8] == '1') then
  redis.call('HDEL', key, 'ms', 'label') -- `owner` stays: a late copy of its request gets the outcome
else
  redis.call('HDEL', key, 'owner', 'ms', 'label')
end
if crowd then
  local queue, waiters = key .. ':queue', key .. ':waiters'
  -- include: key_waiters.lua
end
return {word, now}
