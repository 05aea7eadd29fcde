-- SPDX-License-Identifier: MIT
-- What nearly always happens: a hold stands, and its new end lies in the bucket of the old one, for which the key
-- lives already: see remember(). In a straight line: see acquire_quick.lua. Whatever is not plain gets no answer
-- here, and is left to renew.lua.
local left -- which of them; nil = all
if ARGV[2] == 'f' or ARGV[2] == 'u' then
  local keys, args, call, write, sub = KEYS, ARGV, redis.pcall, redis.call, string.sub
  local time = call('TIME')
  local now = time[1] * 1000 + time[2] / 1000 -- ms
  local lease, bucket, g, least -- of the lock before, as a rule of this one, too
  local plain = 0
  left = {}
  for i = 1, #keys do
    local hold = args[2 * i + 1]
    local f = call('HMGET', keys[i], 'o', 'g') -- what a stranger has put there is not plain
    local stands
    if f[1] and f[2] and sub(f[1], 1, #hold) == hold then
      local its = sub(hold, 1, 5)
      if bucket ~= its or lease ~= args[2 * i + 2] then
        bucket, lease = its, args[2 * i + 2]
        local behind = now - tonumber(bucket, 16) * 4096000
        local ends = math.ceil(behind) + lease
        g, least = string.format('%.0f', ends + 100000000), ends - (ends - 1000000) % 4096000 -- SHORT
        least = math.max(least, behind) + 100000000
        -- Ahead of the clock, or of so many digits that they are not those of a bucket: not plain.
        if behind < 0 or sub(hold, 14, 14) ~= ' ' then least = math.huge end
      end
      local ends = f[2] + 0
      if ends < 100000000 then -- a new hold's
        ends = ends + 100000000 +
          tonumber(sub(hold, 6, 8), 16) * 1000 + math.floor((tonumber(sub(hold, 9, 13), 16) or 0) / 1000)
      end
      stands = ends > least
    end
    if stands then
      if plain == 0 then write('HDEL', keys[i], '-') end -- see keep_what_is_there()
      write('HSET', keys[i], 'g', g)
      plain = plain + 1
    else
      left[i] = true
    end
  end
  if plain == #keys then return string.rep('1', plain) end
end
