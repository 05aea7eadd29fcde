-- SPDX-License-Identifier: MIT
-- What nearly always happens: the hold stands, and nobody waits. In a straight line: see acquire_quick.lua.
local letter = string.match(ARGV[2], '^%l0(%u)$')
if letter then
  local key, hold = KEYS[1], ARGV[1]
  local f = redis.call('HMGET', key, 'o', 'g', 'w', 'k')
  local seconds, rest = string.match(hold, '^(%x%x%x%x%x%x%x%x)(%x%x%x%x%x) %S+ $')
  local run = f[4] and string.match(f[4], '^(%d+) %d+$')
  if seconds and run and f[1] and string.sub(f[1], 1, #hold) == hold and f[2] and not f[3] and
    f[2] + 0 < 100000000 then -- FAR
    local time = redis.call('TIME')
    local now = time[1] * 1000000 + time[2]
    if tonumber(seconds, 16) * 1000000 + tonumber(rest, 16) + f[2] * 1000 > now then
      redis.call('HSET', key, 's', letter .. ' ' .. run .. ' ', 'v', ARGV[5],
        'k', run .. ' ' .. string.format('%.0f', math.floor(now / 1000) + ARGV[4]))
      redis.call('HDEL', key, 'g')
      if redis.call('PTTL', key) < ARGV[4] + 0 then redis.call('PEXPIRE', key, ARGV[4]) end
      return 'F'
    end
  end
end
