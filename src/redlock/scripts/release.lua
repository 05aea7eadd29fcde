-- SPDX-License-Identifier: MIT
-- Takes this server's vote back: of exactly one hold, or of an attempt whatever its number. A vote of a later step
-- stays: the attempt was given it after this request was sent. Safe to repeat. Then the next waiters get a hint.
--
-- KEYS  1 the lock
-- ARGV  1 attempt    2 number; '' = any    3 the step up to which votes are taken back
--       4 '1' = the attempt leaves: send it no more hints
--       5 by an administrator: for how many ms the server refuses to give the hold of exactly that step its vote again;
--         '' = by its client
-- @return {outcome, now}: 'released', 'released_before' = an earlier request did it, 'expired' = its lease was over,
--         'not_held' = not its vote
local key, me, step = KEYS[1], ARGV[1], tonumber(ARGV[3])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local f = redis.call('HMGET', key, 'owner', 'ends', 'grant', 'step', 'has_others')
local owned = f[2] and tonumber(f[2]) > now
local outcome = 'not_held'
if f[1] == me and (ARGV[2] == '' or f[3] == ARGV[2]) and tonumber(f[4]) <= step then
  outcome = owned and 'released' or (f[2] and 'expired' or 'released_before')
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

local readers, reader_info = key .. ':readers', key .. ':reader_info'
local ends = outcome == 'not_held' and tonumber(redis.call('ZSCORE', readers, me) or nil)
local its = ends and redis.call('HMGET', reader_info, me, me .. ':step')
if its and (ARGV[2] == '' or its[1] == ARGV[2]) and tonumber(its[2] or 0) <= step then
  outcome = ends > now and 'released' or (ends > 0 and 'expired' or 'released_before')
  if ends > 0 then
    redis.call('HDEL', reader_info, me .. ':label')
    -- The score of a reader that released its vote is minus the time of its release.
    redis.call('ZADD', readers, string.format('%.0f', -now), me)
    -- A release may be repeated. So the last eight that let go are remembered, or two if no other reads.
    local past = redis.call('ZRANGE', readers, '-inf', 0, 'BYSCORE')
    local most = tonumber(redis.call('ZRANGE', readers, -1, -1, 'WITHSCORES')[2]) > 0 and 8 or 2
    for i, each in ipairs(past) do
      if i > most then
        redis.call('ZREM', readers, each)
        redis.call('HDEL', reader_info, each, each .. ':step')
      end
    end
  end
end
if ARGV[4] ~= '1' and outcome == 'not_held' then return {outcome, now} end
local queue, contacts, waiting, notified, read = key .. ':queue', key .. ':contacts', {}, {}, false
if ARGV[4] == '1' then
  redis.call('ZREM', queue, 'w' .. me, 'r' .. me)
  redis.call('ZREM', contacts, 'w' .. me, 'r' .. me)
end
if owned then return {outcome, now} end
-- include: waiting.lua
if not waiting[1] and not latest[1] then redis.call('HDEL', key, 'has_others') end
-- Hints: to the first that has none yet; if it wants to read, to all readers up to the next writer. While readers have
-- the vote, to readers only. A waiter keeps its place. One that no client listens for leaves: it asks by itself.
local behind_a_writer, notified_a_reader = false, false
for _, each in ipairs(waiting) do
  local reads = string.byte(each) == 114
  if not reads and (read or notified_a_reader) then break end
  if notified[each] then
    behind_a_writer = behind_a_writer or not reads
  elseif not (reads and behind_a_writer) then
    local attempt = string.sub(each, 2)
    local inbox = string.match(key, '^[^{]*') .. 'inbox:' .. string.sub(attempt, 1, 16)
    local receivers = redis.pcall('PUBLISH', inbox, attempt)
    if type(receivers) == 'number' and receivers > 0 then
      -- A negative score: the waiter has got a hint at that time, see waiting.lua.
      redis.call('ZADD', contacts, string.format('%.0f', -now), each)
      if not reads then break end
      notified_a_reader = true
    else
      redis.call('ZREM', queue, each)
      redis.call('ZREM', contacts, each)
    end
  end
end
return {outcome, now}
