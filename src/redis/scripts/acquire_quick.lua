-- SPDX-License-Identifier: MIT
-- What nearly always happens: the lock was freed and nobody waits. In a straight line, since each
-- `local function` of lock.lua costs as much as a call of the server. Whatever is not plain is left
-- to what follows, which gives the same answer here, only slower.
local flags, life = ARGV[2], 3600 -- REMEMBERED
if string.sub(flags, 4, 4) == '.' then flags, life = string.sub(flags, 1, 3), string.sub(flags, 5) + 0 end
if (flags == 'f01' or flags == 'f00') and #ARGV[4] <= 6 and (life >= 1000 or ARGV[4] + 0 <= life * 1000) then
  local time = redis.call('TIME')
  local key = KEYS[1]
  local f = redis.call('HMGET', key, 'o', 'g', 'w', 'e')
  local now = time[1] .. string.sub('00000' .. time[2], -6)
  -- As many digits (16 from 2001 to 2286) compare as text, without making numbers of them.
  if not f[2] and not f[3] and #now == 16 and (not f[1] or string.sub(f[1], -17) < ' ' .. now) then
    redis.call('HSET', key, 'o', ARGV[1] .. ' ' .. now, 'g', now .. ' ' .. ARGV[4], 'l', ARGV[5])
    local least = life + math.min(1000, life) -- REMEMBERED and SHORT; 4600, or LIFE, as a rule
    if not f[4] or (least == 4600 and f[4] <= time[1]) or (least ~= 4600 and f[4] + 4600 <= time[1] + least) then
      redis.call('HSET', key, 'e', time[1] + least + life - 4600)
      redis.call('PEXPIRE', key, (least + life) * 1000)
    end
    return 'G ' .. now
  end
end
