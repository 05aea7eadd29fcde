-- SPDX-License-Identifier: MIT
-- Moves the ends of holds: of locks, permits, and runs of keys. The timer of a client sends it for many holds at once.
-- It renews a hold only if attempt and number are right and the hold has not lapsed. Safe to repeat.
--
-- KEYS  the locks. With interop=redisson each is followed by Redisson's key, or by its own key again if Redisson knows
--       no such lock
-- ARGV  1 for how many ms a key is remembered after its lease
--       2 how many keys belong to a lock: '1', or '2' with Redisson; then 'a' = the slot is on its way to this server
--       from 3 on, three for each lock: attempt, number, lease in ms
-- @return {'renewed', now, ...}, for each lock 1 = renewed, 2 = renewed, and a client waits for the lock that readers
--         hold, 0 = the hold is over, 3 = unknown, because the keys of the readers are at another server of a cluster
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local answer, step, remembered = {'renewed', now}, tonumber(string.sub(ARGV[2], 1, 1)), tonumber(ARGV[1])
local arrives = string.sub(ARGV[2], 2) == 'a'
for i = 1, #KEYS / step do
  local key, other = KEYS[(i - 1) * step + 1], step == 2 and KEYS[i * 2]
  local me, its_number, lease = ARGV[3 * i], ARGV[3 * i + 1], ARGV[3 * i + 2]
  local code, life = 0, lease + remembered
  -- If other software has replaced the key of one lock, the other locks of the batch are still renewed.
  local f = redis.pcall('HMGET', key, 'owner', 'ms', 'number', 'crowd', 'keyed')
  if f.err then
    code = 0
  elseif f[2] and f[3] == its_number and f[1] == me and f[3] + f[2] * 1000 > now then
    code = 1
    if other and other ~= key then
      -- A hold for which Redisson's key was written ends with that key. For another hold the key is written now.
      local has_field = redis.pcall('HEXISTS', other, 'mortise:' .. me)
      if has_field ~= 1 and (f[5] == f[3] or redis.call('PTTL', other) ~= -2) then
        code = 0
      elseif has_field ~= 1 then
        redis.call('PEXPIRE', key, string.format('%.0f', math.max(life, redis.call('PTTL', key))))
        redis.call('HSET', key, 'keyed', its_number)
        redis.call('HSET', other, 'mortise:' .. me, '1')
      end
      if code == 1 then redis.call('PEXPIRE', other, lease) end
    end
    if code == 1 then
      -- PEXPIRE first: Redis never refuses it, and then accepts the next write even without memory.
      redis.call('PEXPIRE', key, string.format('%.0f', math.max(life, redis.call('PTTL', key))))
      redis.call('HSET', key, 'ms', string.format('%.0f', math.ceil((now - its_number) / 1000) + lease))
    end
  elseif f[4] then
    local readers, notes = key .. ':readers', key .. ':notes'
    local last_reader = redis.pcall('ZRANGE', readers, '-1', '-1', 'WITHSCORES')
    local its_end = not last_reader.err and tonumber(redis.call('ZSCORE', readers, me) or nil)
    local noted = redis.pcall('HGET', notes, me)
    local moved = last_reader.err or (type(noted) == 'table' and noted.err)
    local shared = tonumber(f[4])
    local hidden = shared > now and (moved and string.find(moved, 'non local key', 1, true) or
      (arrives and (tonumber(last_reader[2] or 0) < shared or redis.call('PTTL', notes) == -2)))
    if not its_end or type(noted) ~= 'string' then
      code = hidden and 3 or 0
    elseif its_end > now and noted == its_number then
      code = 1
      for _, each in ipairs({key, readers, notes}) do
        redis.call('PEXPIRE', each, string.format('%.0f', math.max(life, redis.call('PTTL', each))))
      end
      redis.call('ZADD', readers, string.format('%.0f', now + lease * 1000), me)
      last_reader = redis.call('ZRANGE', readers, '-1', '-1', 'WITHSCORES')
      if not hidden or tonumber(last_reader[2]) > shared then
        redis.call('HSET', key, 'crowd', string.format('%.0f', last_reader[2]))
      end
      -- A waiter that was silent for 3 s does not count.
      for _, each in ipairs(redis.pcall('ZRANGE', key .. ':queue', '0', '15')) do
        local heard = redis.pcall('HGET', key .. ':waiters', string.sub(each, 2))
        if type(heard) == 'string' and now - string.match(heard, '^%d+') <= 3000000 then code = 2 end
      end
    end
  end
  answer[i + 2] = code
end
return answer
