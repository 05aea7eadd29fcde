-- SPDX-License-Identifier: MIT
-- What nearly always happens: the lock was freed, nobody is interested, and the number that is
-- proposed is larger than all before. In a straight line, since each `local function` of the
-- parts that follow costs as much as a call of the server. Whatever is not plain is left to them,
-- which give the same answer here, only slower.
if string.sub(ARGV[2], 2, 2) == '0' and #ARGV[4] <= 6 and #ARGV[6] == 16 then
  local key = KEYS[1]
  local f = redis.call('HMGET', key, 'o', 'g', 'm', 'x', 'i', 'e')
  -- As many digits (16 from 2001 to 2286) compare as text, without making numbers of them.
  if not f[2] and not f[3] and not f[4] and not f[5] and
      (not f[1] or string.sub(f[1], -17) < ' ' .. ARGV[6]) then
    local time = redis.call('TIME')
    redis.call('HSET', key, 'o', ARGV[1] .. ' ' .. ARGV[6],
      'g', time[1] .. string.sub('00000' .. time[2], -6) .. ' ' .. ARGV[4], 's', ARGV[3], 'l', ARGV[5])
    if not f[6] or f[6] <= time[1] then
      redis.call('HSET', key, 'e', time[1] + 3600)
      redis.call('PEXPIRE', key, 8200000) -- REMEMBERED twice, and SHORT
    end
    return 'G ' .. ARGV[6]
  end
end
