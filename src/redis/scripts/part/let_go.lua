-- SPDX-License-Identifier: MIT
-- Ends the hold of a reader, if the attempt has the number that the release names.
--
-- Before: all of open.lua; whose: the attempt; ARGV 2: the number. After: outcome as of release.lua; read, shared.
local noted = redis.pcall('HGET', notes, whose)
local its_end = noted == ARGV[2] and redis.pcall('ZSCORE', readers, whose)
its_end = type(its_end) == 'string' and tonumber(its_end)
if hidden and not its_end then return redis.error_reply('TRYAGAIN the readers are at another server') end
if its_end then
  outcome = its_end > now and 'freed' or its_end > 0 and 'lapsed' or 'before'
  if its_end > now and not hidden then read = read - 1 end
  redis.call('HDEL', notes, whose .. ':label')
  if its_end > now then redis.call('ZADD', readers, '-' .. clock, whose) end
  -- A release may be repeated. So the last eight readers that let go are remembered, until no client has read for a
  -- minute.
  for i, each in ipairs(redis.call('ZRANGE', readers, '-inf', '0', 'BYSCORE')) do
    if i > 8 then
      redis.call('ZREM', readers, each)
      redis.call('HDEL', notes, each)
    end
  end
  local latest = redis.call('ZRANGE', readers, '-1', '-1', 'WITHSCORES')
  if not hidden and shared > 0 then
    shared = read > 0 and tonumber(latest[2]) or 0
    redis.call('HSET', key, 'crowd', string.format('%.0f', shared))
  end
  if read == 0 then
    local lives = math.min(60000, math.max(1, redis.call('PTTL', key)))
    redis.call('PEXPIRE', readers, lives)
    redis.call('PEXPIRE', notes, lives)
  end
end
