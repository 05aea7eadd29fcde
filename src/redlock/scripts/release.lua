-- SPDX-License-Identifier: MIT
-- Takes this server's vote back: of exactly one hold, or of an attempt whatever its number. A vote of a later step
-- stays: the attempt was given it after this request was sent. Safe to repeat. Then the next waiters get a hint.
--
-- KEYS  1 the lock
-- ARGV  1 attempt    2 number; '' = any    3 the step up to which votes are taken back
--       4 '1' = the attempt leaves: send it no more hints
--       5 by an administrator: for how many ms the server refuses to give the hold of exactly that step its vote again;
--         '' = by its client
-- @return {outcome, now}: 'freed', 'before' = it was freed before, 'lapsed' = its lease was over, 'none' = not its vote
local key, me, step = KEYS[1], ARGV[1], tonumber(ARGV[3])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local f = redis.call('HMGET', key, 'owner', 'ends', 'number', 'step', 'crowd')
local owned = f[2] and tonumber(f[2]) > now
local outcome = 'none'
if f[1] == me and (ARGV[2] == '' or f[3] == ARGV[2]) and tonumber(f[4]) <= step then
  outcome = owned and 'freed' or (f[2] and 'lapsed' or 'before')
  owned = false
  if f[2] then redis.call('HDEL', key, 'ends') end
end
if ARGV[5] and ARGV[5] ~= '' then
  local forced = key .. ':forced'
  redis.call('HDEL', key, '-') -- is never refused; then Redis accepts the next write without memory, too
  redis.call('ZADD', forced, string.format('%.0f', now + ARGV[5] * 1000), me .. ':' .. ARGV[3])
  redis.call('PEXPIRE', forced, math.max(tonumber(ARGV[5]), redis.call('PTTL', forced)))
end
if not f[5] then return {outcome, now} end

local readers, its_notes = key .. ':readers', key .. ':notes'
local ends = outcome == 'none' and tonumber(redis.call('ZSCORE', readers, me) or nil)
local its = ends and redis.call('HMGET', its_notes, me, me .. ':step')
if its and (ARGV[2] == '' or its[1] == ARGV[2]) and tonumber(its[2] or 0) <= step then
  outcome = ends > now and 'freed' or (ends > 0 and 'lapsed' or 'before')
  if ends > 0 then
    redis.call('HDEL', its_notes, me .. ':label')
    redis.call('ZADD', readers, string.format('%.0f', -now), me)
    -- A release may be repeated. So the last eight that let go are remembered, or two if no other reads.
    local past = redis.call('ZRANGE', readers, '-inf', 0, 'BYSCORE')
    local most = tonumber(redis.call('ZRANGE', readers, -1, -1, 'WITHSCORES')[2]) > 0 and 8 or 2
    for i, each in ipairs(past) do
      if i > most then
        redis.call('ZREM', readers, each)
        redis.call('HDEL', its_notes, each, each .. ':step')
      end
    end
  end
end
if ARGV[4] ~= '1' and outcome == 'none' then return {outcome, now} end
local queue, heard, waiting, told, read = key .. ':queue', key .. ':heard', {}, {}, false
if ARGV[4] == '1' then
  redis.call('ZREM', queue, 'w' .. me, 'r' .. me)
  redis.call('ZREM', heard, 'w' .. me, 'r' .. me)
end
if owned then return {outcome, now} end
-- include: waiting.lua
if not waiting[1] and not latest[1] then redis.call('HDEL', key, 'crowd') end
-- Hints: to the first that has none yet; if it wants to read, to all readers up to the next writer. While readers have
-- the vote, to readers only. A waiter keeps its place. One that no client listens for leaves: it asks by itself.
local behind_a_writer, told_a_reader = false, false
for _, each in ipairs(waiting) do
  local reads = string.byte(each) == 114
  if not reads and (read or told_a_reader) then break end
  if told[each] then
    behind_a_writer = behind_a_writer or not reads
  elseif not (reads and behind_a_writer) then
    local attempt = string.sub(each, 2)
    local inbox = string.match(key, '^[^{]*') .. 'inbox:' .. string.sub(attempt, 1, 16)
    local listeners = redis.pcall('PUBLISH', inbox, attempt)
    if type(listeners) == 'number' and listeners > 0 then
      redis.call('ZADD', heard, string.format('%.0f', -now), each)
      if not reads then break end
      told_a_reader = true
    else
      redis.call('ZREM', queue, each)
      redis.call('ZREM', heard, each)
    end
  end
end
return {outcome, now}
