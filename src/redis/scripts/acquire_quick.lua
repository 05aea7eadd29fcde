-- SPDX-License-Identifier: MIT
-- What nearly always happens: the lock was freed and nobody waits, and whoever wants it alone, or to read, or the
-- first permit of a semaphore, has it; or a try finds it held. In a straight line, since each `local function` of the parts that follow costs as much as a call of the server. Whatever is not
-- plain is left to them, which give the same answer here, only slower.
-- @return as acquire.lua; or short: "G<now>" of a grant that is also numbered so, or to a try
--         "H<now> <g> <waiters> <o>": what B says, as it is kept
local flags, life, sign = ARGV[2], 3600, '' -- REMEMBERED; of who reads alone: see readers.lua
local kind = string.sub(flags, 4, 4)
if kind == 's' or kind == 'p' then flags, sign = string.sub(flags, 1, 3) .. string.sub(flags, 5), '*' end
if string.sub(flags, 4, 4) == '.' then flags, life = string.sub(flags, 1, 3), string.sub(flags, 5) + 0 end
local tries = flags == 'f00' or flags == 'r00'
if tries or flags == 'f01' then
  local time = redis.call('TIME')
  local key = KEYS[1]
  local f = kind == 'p' and redis.call('HMGET', key, 'o', 'g', 'w', 'n') or redis.call('HMGET', key, 'o', 'g', 'w')
  local o, g = f[1], f[2]
  local now = string.format('%08x%05x', time[1], time[2])
  -- A zero more is plain for a client that writes it, too: see owned().
  local from = life < 3600 and o and string.byte(o) == 48 and 2 or 1
  -- As many digits (13 until 2106) compare as text, without making numbers of them.
  if not g and not f[3] and #now == 13 and
    (not o or (string.byte(o, from + 13) == 32 and string.sub(o, from, from + 12) < now)) and
    flags ~= 'r00' and #ARGV[4] <= 6 and (life >= 1000 or ARGV[4] + 0 <= life * 1000) and
    (kind ~= 'p' or f[4] == ARGV[6]) then
    local owned = now .. ' ' .. sign .. ARGV[1] .. ' ' .. ARGV[5]
    redis.call('HSET', key, 'o', life < 3600 and '0' .. owned or owned, 'g', ARGV[4])
    -- Once in a BUCKET, as a rule: see remember().
    if not o or life ~= 3600 or string.sub(o, 1, 5) ~= string.sub(now, 1, 5) then
      local short = math.min(1000, life)
      local least = (life + short) * 1000
      if life >= 3600 then least = least + 4096000 - (time[1] % 4096 * 1000 + math.floor(time[2] / 1000)) end
      if redis.call('PTTL', key) < least then
        redis.call('PEXPIRE', key, life < 3600 and least + life * 1000 or least)
      end
    end
    return 'G' .. now
  end
  -- Where the number begins, without that zero.
  local at = 1
  if o and string.byte(o, 14) ~= 32 then at = string.byte(o) == 48 and string.byte(o, 15) == 32 and 2 end
  -- Tombstones are looked through where there is time; without w there are none.
  if tries and sign == '' and #now == 13 and at and not (f[3] and redis.call('HGET', key, 'x')) then
    local owner = o and string.match(o, ' (%S+)')
    local theirs = flags == 'r00' and (not o or redis.call('HEXISTS', KEYS[2], 'mortise:' .. owner) == 0)
    if not theirs and g and owner and owner ~= ARGV[1] then
      -- In ms, and of a new hold without the part of a second: its last one takes the slow way.
      local ends = g + 0
      if ends < 100000000 then
        ends = ends + tonumber(string.sub(o, at, at + 7), 16) * 1000
      else
        ends = ends - 100000000 + tonumber(string.sub(o, at, at + 4), 16) * 4096000
      end
      if ends > time[1] * 1000 + time[2] / 1000 then
        return 'H' .. now .. ' ' .. g .. ' ' .. (f[3] or '0') .. ' ' .. o
      end
    elseif theirs and owner ~= ARGV[1] and redis.call('HLEN', KEYS[2]) == 1 and
      string.find(redis.call('HKEYS', KEYS[2])[1],
        '^%x%x%x%x%x%x%x%x%-%x%x%x%x%-%x%x%x%x%-%x%x%x%x%-%x%x%x%x%x%x%x%x%x%x%x%x:%d+') then
      local left = redis.call('PTTL', KEYS[2])
      if left < 0 then left = 3600000 end
      local number = o and
        tonumber(string.sub(o, at, at + 7), 16) * 1000000 + tonumber(string.sub(o, at + 8, at + 12), 16) or 0
      return string.format('B %s%06.0f %.0f 0 -%.0f %s redisson', time[1], time[2], math.max(left, 1) * 1000, number,
        f[3] or '0')
    end
  end
end
