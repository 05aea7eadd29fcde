-- SPDX-License-Identifier: MIT
-- What nearly always happens: the lock was freed and nobody waits. In a straight line, since each
-- `local function` of lock.lua costs as much as a call of the server. Whatever is not plain is left
-- to what follows, which gives the same answer here, only slower.
if (ARGV[2] == 'f01' or ARGV[2] == 'f00') and #ARGV[4] <= 6 then
  local time = redis.call('TIME')
  local key = KEYS[1]
  local f = redis.call('HMGET', key, 'o', 'g', 'w', 'e')
  local now = time[1] .. string.sub('00000' .. time[2], -6)
  -- As many digits (16 from 2001 to 2286) compare as text, without making numbers of them.
  if not f[2] and not f[3] and #now == 16 and (not f[1] or string.sub(f[1], -17) < ' ' .. now) then
    redis.call('HSET', key, 'o', ARGV[1] .. ' ' .. now, 'g', now .. ' ' .. ARGV[4], 'l', ARGV[5])
    if not f[4] or f[4] <= time[1] then
      redis.call('HSET', key, 'e', time[1] + 3600)
      redis.call('PEXPIRE', key, 8200000) -- REMEMBERED twice, and SHORT
    end
    return 'G ' .. now
  end
end
