-- SPDX-License-Identifier: MIT
-- Begins a run of a key, joins its queue, or returns what is remembered of it. A repeated request gets the same run.
-- A request that arrives after the moment `void` changes nothing: no client reads its reply any more.
--
-- The hash of a key has the `number` of its last grant (the fencing token counts it), and during a run `owner`, `ms`
-- (the lease, counted from `number`) and `label`. Its record is `run` (a counter of its runs: 1, 2, 3), `print` (its
-- fingerprint), and `till`, the moment at which the record is forgotten. The last conclusion is `outcome` (Y succeeded,
-- F failed), `result`, and `outcome_of`, the grant number of its run. The conclusion stands if `outcome_of` is the
-- number of the last grant, or if the field `stands` is that number: then the last run was undone. Otherwise the key is
-- pending. Then `outcome_run` is the run of that conclusion, and `outcome_till` the moment at which it would have been
-- forgotten.
--
-- KEYS  1 the key
-- ARGV  1 attempt    2 void: a moment of this server's clock, in us    3 lease in ms    4 label
--       5 its wish: does it run a key that has an outcome? f = after a failure, n = never, a = always
--       6 how long the record is kept, in ms    7 fingerprint
--       8 '1' = wait, '0' = try; then 'a' if in a cluster the slot of the key is on its way to this server
--       9 the grant number of the conclusion that a message D named; '' = none
--       10 how long the number is remembered, in ms
-- @return {'granted', now, number, left in us, run}, {'void', now},
--         {'recorded', now, state, run, number, held, fingerprint, bytes}: then the attempt is not queued, or
--         {'queued', now, left in us, first, number, waiters, label}, or {'busy', ...} or {'apart', ...} with
--         the same items. 'apart': it could not be queued, see part/key_waiters.lua
local key, me, wish, my_print = KEYS[1], ARGV[1], ARGV[5], ARGV[7]
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if now > tonumber(ARGV[2]) then return {'void', now} end
local owner, ms, number, label, run, its_print, till, concluded, outcome_of, stands, outcome_run, crowd, result =
  unpack(redis.call('HMGET', key, 'owner', 'ms', 'number', 'label', 'run', 'print', 'till', 'outcome', 'outcome_of',
  'stands', 'outcome_run', 'crowd', 'result'))
local ends, first, apart = ms and number + ms * 1000, nil, nil
local held = ends and ends > now
local arrives = string.sub(ARGV[8], 2) == 'a'
if held and owner == me then return {'granted', now, number + 0, ends - now, run + 0} end

local known = run and (held or tonumber(till) > now)
local outcome = known and (outcome_of == number or stands == number) and concluded
local answers = known and concluded and (wish == 'n' or (wish == 'f' and concluded == 'Y') or
  (owner == me and outcome_of == number)) -- a late copy of the request that began the last run
local answer
if known and my_print ~= its_print then
  local state = outcome == 'Y' and 'succeeded' or outcome == 'F' and 'failed' or 'pending'
  answer = {'recorded', now, state, run + 0, (outcome and outcome_of or number) + 0, held and 1 or 0, its_print, ''}
elseif answers and ((outcome and not held) or outcome_of == ARGV[9]) then
  -- The outcome stands. Or a message has named it, and the key may be run again by now.
  local state = concluded == 'Y' and 'succeeded' or 'failed'
  answer = {'recorded', now, state, (outcome and run or outcome_run) + 0, outcome_of + 0, 0, my_print, result or ''}
end

if answer and not crowd then return answer end

local queue, waiters, place = key .. ':queue', key .. ':waiters', wish .. me
local clock = time[1] .. string.sub('00000' .. time[2], -6)
if crowd then
  if answer then
    redis.pcall('ZREM', queue, place)
    redis.pcall('HDEL', waiters, me)
  end
  -- include: key_waiters.lua
end
if answer then return answer end

if held or apart or (first and first ~= place) then
  local word, left, many = 'busy', held and ends - now or 0, 0
  -- While the slot arrives, a queue that is made here would collide with the one that is still to come.
  apart = apart or (arrives and not crowd)
  if string.sub(ARGV[8], 1, 1) == '1' then
    local score = not apart and redis.pcall('ZSCORE', queue, place)
    local said = score
    if type(score) == 'string' then redis.call('HDEL', key, '-') end -- as in key_waiters.lua: it keeps its place
    if not apart and type(said) ~= 'table' then
      said = redis.pcall('HSET', waiters, me, clock .. ' ' .. ARGV[4])
    end
    if type(said) == 'table' and not string.find(said.err, 'non local key', 1, true) then return said end
    word = (apart or type(said) == 'table') and 'apart' or 'queued'
    if word == 'queued' then
      redis.call('PEXPIRE', waiters, '10000')
      if not score then
        local latest = redis.call('ZRANGE', queue, '-1', '-1', 'WITHSCORES')
        redis.call('ZADD', queue, string.format('%.0f', math.max(now, tonumber(latest[2] or 0) + 1)), place)
      end
      redis.call('PEXPIRE', queue, '10000')
      redis.call('HSET', key, 'crowd', '0')
    end
  end
  if (crowd and not apart) or word == 'queued' then many = redis.pcall('ZCARD', queue) end
  if type(many) ~= 'number' then many = 0 end
  local is_first = (not first or first == place) and 1 or 0
  return {word, now, left, is_first, tonumber(number or 0), many, held and label or ''}
end

if first or (crowd and type(redis.pcall('ZSCORE', queue, place)) == 'string') then
  redis.pcall('ZREM', queue, place)
  redis.pcall('HDEL', waiters, me)
end
local last = tonumber(number or 0)
-- include: number.lua
-- A waiter may still ask for that outcome by its number, and it stands again if this run is undone.
if outcome then redis.call('HSET', key, 'outcome_run', run, 'outcome_till', till) end
run = known and run + 1 or 1
redis.call('HSET', key, 'owner', me, 'ms', string.format('%.0f', ARGV[3] - ahead), 'number', its_number,
  'label', ARGV[4], 'run', string.format('%.0f', run), 'print', my_print,
  'till', string.format('%.0f', now + ARGV[6] * 1000))
if concluded and not known then
  redis.call('HDEL', key, 'outcome', 'outcome_of', 'stands', 'outcome_run', 'outcome_till', 'result')
end
-- A number that is ahead of the clock is remembered until the clock has reached it.
redis.call('PEXPIRE', key, string.format('%.0f', math.max(ARGV[6] + 0, ARGV[3] + ARGV[10]) + ahead))
return {'granted', now, its_number + 0, ARGV[3] * 1000, run}
