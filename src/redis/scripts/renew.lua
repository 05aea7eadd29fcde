-- SPDX-License-Identifier: MIT
-- Moves the ends of leases: of locks, permits, and runs of keys. The timer of a client sends it for many holds at once.
-- It renews a hold only if attempt and number are right and its lease is not over. Safe to repeat.
--
-- KEYS  the locks. With interop=redisson each is followed by Redisson's key, or by its own key again if Redisson knows
--       no such lock
-- ARGV  1 words: redisson = two keys belong to each lock; importing = their slot is on its way to this server
--       from 2 on, four for each lock: attempt, grant number, lease in ms, time to live of its key in ms
-- @return {'renewed', now, ...}, for each lock 1 = renewed, 2 = renewed, and a client waits for the lock that readers
--         hold, 0 = the hold is over, 3 = unknown, because the keys of the readers are at another server of a cluster
local call, keys, words, with_redisson, importing = redis.call, KEYS, ARGV[1], false, false
-- include: fields.lua
if words ~= '' then
  with_redisson, importing = string.find(words, 'redisson', 1, true), string.find(words, 'importing', 1, true)
end
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
local answer, keys_per_lock = {'renewed', now}, with_redisson and 2 or 1
for i = 1, #keys / keys_per_lock do
  local key, redisson_key = keys[i], false
  if with_redisson then key, redisson_key = keys[2 * i - 1], keys[2 * i] end
  local me, its_grant, lease, ttl = unpack(ARGV, 4 * i - 2, 4 * i + 1)
  local code = 0
  -- If other software has replaced the key of one lock, the other locks of the batch are still renewed.
  local f = redis.pcall('HMGET', key, OWNER, LEASE, GRANT, 'readers_until')
  local held_us = f[2] and f[3] == its_grant and f[1] == me and now - its_grant
  if held_us and f[2] * 1000 > held_us then
    code = 1
    if redisson_key and redisson_key ~= key then
      -- include: renew_redisson.lua
    end
    if code == 1 then
      -- PEXPIRE first: Redis never refuses it, and then accepts the next write even without memory. A key may have to
      -- live for longer than this ttl if clients read or wait, if its number is ahead of the clock, or if it is a
      -- semaphore or a key of `Once`: only the key of a lock ends with '}', byte 125.
      if f[4] or held_us < 0 or string.byte(key, -1) ~= 125 then
        ttl = string.format('%.0f', math.max(ttl + 0, call('PTTL', key)))
      end
      call('PEXPIRE', key, ttl)
      call('HSET', key, LEASE, string.format('%.0f', math.ceil(held_us / 1000) + lease))
    end
  elseif f[4] then
    local readers_end = tonumber(f[4])
    -- include: renew_reader.lua
  end
  answer[i + 2] = code
end
return answer
