-- SPDX-License-Identifier: MIT
-- What nearly always happens: nothing is known of the key, and it is run; or it has its outcome, nobody waits,
-- and whoever comes is told. In a straight line: see acquire_quick.lua. Whatever is not plain is left to begin.lua,
-- which gives the same answer here, only slower.
if #ARGV == 5 and string.sub(ARGV[2], 2, 2) == '0' then
  local key, asked = KEYS[1], ARGV[5]
  local f = redis.call('HMGET', key, 'o', 'g', 'w', 'k', 's')
  local repeats, keep, from = string.match(asked, '^(%l)(%d+) ()%d+ ')
  if from and not f[1] and not f[2] and not f[3] and not f[4] and not f[5] and #ARGV[2] == 3 then
    local time = redis.call('TIME')
    local now = time[1] .. string.sub('00000' .. time[2], -6)
    redis.call('HSET', key, 'o', string.format('%08x%05x ', time[1], time[2]) .. ARGV[1] .. ' ' .. asked, 'g', ARGV[4],
      'k', '1 ' .. string.format('%.0f', math.floor(now / 1000) + keep))
    -- No shorter than remember() would have it: two of its buckets, REMEMBERED and SHORT.
    redis.call('PEXPIRE', key, string.format('%.0f', math.max(keep + 0, ARGV[4] + 12800000)))
    return 'G ' .. now .. ' ' .. now .. ' ' .. now .. ' ' .. ARGV[4] .. ' 1'
  elseif from and f[1] and not f[2] and not f[3] and f[4] and f[5] then
    local letter, run = string.match(f[5], '^(%u) (%d+) $')
    local seconds, rest, at = string.match(f[1], '^(%x%x%x%x%x%x%x%x)(%x%x%x%x%x) %S+ %l%d+ ()')
    local till = string.match(f[4], '^%d+ (%d+)$')
    if letter and at and till and (repeats == 'n' or (repeats == 'f' and letter == 'Y')) then
      local length = string.match(asked, '^%d+', from)
      local print = string.sub(asked, from, from + #length + length) -- "<length> <fingerprint>"
      local time = redis.call('TIME')
      local now = time[1] .. string.sub('00000' .. time[2], -6)
      if string.sub(f[1], at, at + #print - 1) == print and till * 1000 > now + 0 then
        local number = string.format('%.0f', tonumber(seconds, 16) * 1000000 + tonumber(rest, 16))
        return 'D ' .. now .. ' ' .. letter .. ' ' .. run .. ' ' .. number .. ' 0 ' .. print ..
          (redis.call('HGET', key, 'v') or '')
      end
    end
  end
end
