-- SPDX-License-Identifier: MIT
-- What nearly always happens: the hold stands, and nobody waits, or the first who waits lives. In a
-- straight line: see acquire_quick.lua. Whether the lease has run out is not asked: a hold that has
-- lapsed, and that nobody came after, is given back as any other; whether it had lapsed for its
-- owner, its own clock has told it before.
if ARGV[2] == 'f0' or string.sub(ARGV[2], 1, 3) == 'f0.' then
  local key, hold = KEYS[1], ARGV[1]
  local f = redis.call('HMGET', key, 'o', 'g', 'w', 'h')
  local o = f[1]
  -- Or behind the zero of one that is remembered for as short: see owned().
  local ours = f[2] and o and (string.sub(o, 1, #hold) == hold or '0' .. hold == string.sub(o, 1, #hold + 1))
  if not ours and f[2] and o then -- perhaps of one who reads alone: see readers.lua
    hold = string.sub(hold, 1, 14) .. '*' .. string.sub(hold, 15)
    ours = string.sub(o, 1, #hold) == hold or '0' .. hold == string.sub(o, 1, #hold + 1)
  end
  if ours and not f[3] then
    redis.call('HDEL', key, 'g')
    return 'F'
  end
  local first = ours and f[4] and redis.call('HMGET', key, '#' .. f[4], 'x')
  if first and first[1] and not first[2] then
    local time = redis.call('TIME')
    local now = time[1] .. string.sub('00000' .. time[2], -6)
    local number = string.format('%08x%05x', time[1], time[2])
    local attempt, contact, lease, label = string.match(first[1], '^(%S+) (%d+) (%d+) (.*)$')
    -- As many digits, of the same BUCKET: see acquire_quick.lua.
    if #now == 16 and #number == 13 and string.byte(o, 14) == 32 and string.sub(o, 1, 13) < number and
        string.sub(o, 1, 5) == string.sub(number, 1, 5) and now - contact < 3000000 and
        string.byte(lease) ~= 48 then -- who wants Redisson's key: see queue.lua
      if lease + 0 > 2000 then lease = '2000' end -- PROVISIONAL_LEASE
      redis.call('HDEL', key, attempt, '#' .. f[4], 'g', f[3] == '1' and 'w' or '-')
      local told = redis.pcall('PUBLISH', string.match(key, '^[^{]*') .. 'inbox:' .. string.sub(attempt, 1, 16),
        'G ' .. attempt .. ' ' .. now .. ' ' .. now .. ' ' .. lease .. ' ' .. key)
      if type(told) == 'number' and told > 0 then
        local owned = number .. ' ' .. attempt .. ' ' .. label
        if f[3] == '1' then
          redis.call('HSET', key, 'o', owned, 'g', lease, 'h', f[4] + 1)
        else
          redis.call('HSET', key, 'o', owned, 'g', lease, 'h', f[4] + 1, 'w', f[3] - 1)
        end
        return 'F'
      end
      -- Nobody reads there: all as it was, and the long way.
      redis.call('HSET', key, '#' .. f[4], first[1], attempt, f[4], 'g', f[2], 'w', f[3])
    end
  end
end
