-- SPDX-License-Identifier: MIT
-- What nearly always happens: the lock is free and nobody waits. In a straight line, since each
-- `local function` of lock.lua costs as much as a call of the server. Whatever is not plain is left
-- to what follows, which gives the same answer here, only slower.
if ARGV[2] ~= 'r' and ARGV[5] == '0' then
  local time = redis.call('TIME')
  local now = time[1] * 1000000 + time[2]
  local key, lease = KEYS[1], ARGV[7]
  local f = redis.call('HMGET', key, 'n', 'e', 'g', 'c', 'w', 'x')
  if (not f[1] or f[1] + 0 < now) and (not f[3] or f[3] + f[4] * 1000 <= now) and
      (not f[5] or f[5] == '0') and not f[6] then
    local text = time[1] .. string.sub(1000000 + time[2], 2)
    if f[2] and f[2] * 1000 > now + (lease + 3600000) * 1000 then
      redis.call('HSET', key, 'o', ARGV[3], 'n', text, 'g', text, 'c', lease, 'l', ARGV[8])
    else
      local life = lease + 7200000 -- twice REMEMBERED
      redis.call('HSET', key, 'o', ARGV[3], 'n', text, 'g', text, 'c', lease, 'l', ARGV[8], 'e',
        string.format('%.0f', now / 1000 + life))
      redis.call('PEXPIRE', key, life)
    end
    return 'G ' .. text .. ' ' .. text .. ' ' .. text .. ' ' .. lease
  end
end
