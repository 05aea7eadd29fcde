-- SPDX-License-Identifier: MIT
-- Moves the ends of holds. Each is checked for attempt, number and end: a vote that has lapsed does not come back by
-- this (a request with 'hold' does that: see acquire.lua). Safe to repeat.
--
-- KEYS  the locks
-- ARGV  three for each lock: attempt, number, lease in ms
-- @return {'renewed', now, ...}, for each lock 1 = renewed, 2 = renewed, and a writer waits whom readers keep out,
--         0 = another owner's, or no lock at all, -1 = no owner has the vote that would exclude it
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local answer = {'renewed', now}
for i, key in ipairs(KEYS) do
  local me, its_grant, lease = ARGV[3 * i - 2], ARGV[3 * i - 1], ARGV[3 * i]
  -- What other software has put in the place of one lock costs that hold, and no other of the batch.
  local f = redis.pcall('HMGET', key, 'owner', 'ends', 'grant', 'has_others')
  local code = 0
  if not f.err then
    local owned = f[2] and tonumber(f[2]) > now
    code = owned and f[1] ~= me and 0 or -1
    local ends, life = string.format('%.0f', now + lease * 1000), lease + 3660000
    if owned and f[1] == me and f[3] == its_grant then
      code = 1
      -- PEXPIRE first: it is never refused, and then Redis accepts the next write without memory, too.
      redis.call('PEXPIRE', key, f[4] and math.max(life, redis.call('PTTL', key)) or life)
      redis.call('HSET', key, 'ends', ends)
    elseif f[4] then
      local readers, reader_info = key .. ':readers', key .. ':reader_info'
      local its_end = tonumber(redis.pcall('ZSCORE', readers, me) or nil)
      if its_end and its_end > now and redis.pcall('HGET', reader_info, me) == its_grant then
        code = 1
        for _, each in ipairs({key, readers, reader_info}) do
          redis.call('PEXPIRE', each, math.max(life, redis.call('PTTL', each)))
        end
        redis.call('ZADD', readers, ends, me)
        local queue, contacts, waiting, notified, read = key .. ':queue', key .. ':contacts', {}, {}, false
        -- include: waiting.lua
        for _, each in ipairs(waiting) do
          if string.byte(each) == 119 then code = 2 end
        end
      end
    end
  end
  answer[i + 2] = code
end
return answer
