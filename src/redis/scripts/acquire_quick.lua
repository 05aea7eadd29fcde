-- SPDX-License-Identifier: MIT
-- What nearly always happens: the lock was freed and nobody waits. In a straight line, since each
-- `local function` of lock.lua costs as much as a call of the server. Whatever is not plain is left
-- to what follows, which gives the same answer here, only slower.
if ARGV[2] ~= 'r' and ARGV[5] == '0' then
  local time = redis.call('TIME')
  local key, lease = KEYS[1], ARGV[7]
  local f = redis.call('HMGET', key, 'o', 'g', 'w', 'e')
  local now = time[1] .. string.sub(1000000 + time[2], 2)
  -- 16 digits (from 2001 to 2286) compare as text.
  if not f[2] and not f[3] and #now == 16 and (not f[1] or string.sub(f[1], -17) < ' ' .. now) then
    redis.call('HSET', key, 'o', ARGV[3] .. ' ' .. now, 'g', now .. ' ' .. lease, 'l', ARGV[8])
    if not f[4] or f[4] + 0 <= time[1] + lease / 1000 + 3600 then
      local life = lease / 1000 + 7200
      redis.call('HSET', key, 'e', string.format('%.0f', math.floor(time[1] + life)))
      redis.call('PEXPIRE', key, string.format('%.0f', life * 1000))
    end
    return 'G ' .. now .. ' ' .. now .. ' ' .. now .. ' ' .. lease
  end
end
