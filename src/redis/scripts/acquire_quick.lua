-- SPDX-License-Identifier: MIT
-- What nearly always happens: the lock was freed and nobody waits; or a try finds it held. In a straight line,
-- since each `local function` of the parts that follow costs as much as a call of the server. Whatever is not
-- plain is left to them, which give the same answer here, only slower.
local flags, life = ARGV[2], 3600 -- REMEMBERED
if string.sub(flags, 4, 4) == '.' then flags, life = string.sub(flags, 1, 3), string.sub(flags, 5) + 0 end
local tries = flags == 'f00' or flags == 'r00'
if tries or flags == 'f01' then
  local time = redis.call('TIME')
  local key = KEYS[1]
  local f = redis.call('HMGET', key, 'o', 'g', 'w', 'e')
  local now = time[1] .. string.sub('00000' .. time[2], -6)
  -- As many digits (16 from 2001 to 2286) compare as text, without making numbers of them.
  if not f[2] and not f[3] and #now == 16 and (not f[1] or string.sub(f[1], -17) < ' ' .. now) and
    flags ~= 'r00' and #ARGV[4] <= 6 and (life >= 1000 or ARGV[4] + 0 <= life * 1000) then
    redis.call('HSET', key, 'o', ARGV[1] .. ' ' .. now, 'g', now .. ' ' .. ARGV[4], 'l', ARGV[5])
    local least = life + math.min(1000, life) -- REMEMBERED and SHORT; 4600, or LIFE, as a rule
    if not f[4] or (least == 4600 and f[4] <= time[1]) or (least ~= 4600 and f[4] + 4600 <= time[1] + least) then
      redis.call('HSET', key, 'e', time[1] + least + life - 4600)
      redis.call('PEXPIRE', key, (least + life) * 1000)
    end
    return 'G ' .. now
  end
  local owner, number
  if f[1] then owner, number = string.match(f[1], '^(%S+) (%d+)$') end
  -- Tombstones are looked through where there is time.
  local more = tries and #now == 16 and owner ~= ARGV[1] and redis.call('HMGET', key, 'x', 'l')
  if more and not more[1] then
    local theirs = flags == 'r00' and (not owner or redis.call('HEXISTS', KEYS[2], owner) == 0)
    if not theirs and owner and f[2] then
      local since, lease = string.match(f[2], '^(%d+) (%d+)$')
      local left = since + lease * 1000 - now
      if left > 0 then
        return 'B ' .. now .. ' ' .. string.format('%.0f', left) .. ' 0 ' .. number .. ' ' ..
          (f[3] or '0') .. ' ' .. (more[2] or '')
      end
    elseif theirs and redis.call('HLEN', KEYS[2]) == 1 and string.find(redis.call('HKEYS', KEYS[2])[1],
      '^%x%x%x%x%x%x%x%x%-%x%x%x%x%-%x%x%x%x%-%x%x%x%x%-%x%x%x%x%x%x%x%x%x%x%x%x:%d+') then
      local left = redis.call('PTTL', KEYS[2])
      if left < 0 then left = 3600000 end
      return 'B ' .. now .. ' ' .. string.format('%.0f', math.max(left, 1) * 1000) .. ' 0 -' .. (number or '0') ..
        ' ' .. (f[3] or '0') .. ' redisson'
    end
  end
end
