-- SPDX-License-Identifier: MIT
-- What nearly always happens: a hold stands, and its lease stays as long as it was. In a straight line: see
-- acquire_quick.lua. Whatever is not plain gets no answer here, and is left to renew.lua.
local answers, plain = {}, 0
if ARGV[2] == 'f' or ARGV[2] == 'u' then
  local keys, args = KEYS, ARGV
  local time = redis.call('TIME')
  local now = time[1] .. string.sub('00000' .. time[2], -6)
  local lease, began, g -- of the lock before, as a rule of this one, too
  for i = 1, #now == 16 and #keys or 0 do
    if lease ~= args[2 * i + 2] then
      lease = args[2 * i + 2]
      -- A hold of that lease that began then, or before, has lapsed: '~' is larger than the space behind it.
      began = string.format('%.0f~', now - lease * 1000)
      g = now .. ' ' .. lease
    end
    local f = redis.pcall('HMGET', keys[i], 'o', 'g', 'e') -- what a stranger has put there is not plain
    -- As many digits compare as text: see acquire_quick.lua.
    if f[1] == args[2 * i + 1] and f[2] and f[2] > began and string.sub(f[2], 18) == lease and
      f[3] and f[3] > time[1] and #lease <= 6 then
      if plain == 0 then redis.call('HDEL', keys[i], '-') end -- see keep_what_is_there()
      redis.call('HSET', keys[i], 'g', g)
      answers[i] = '1'
      plain = plain + 1
    end
  end
  if plain == #keys then return string.rep('1', plain) end
end
