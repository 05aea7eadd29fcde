-- SPDX-License-Identifier: MIT
-- Renews the places of many waiters of one client in their queues. It changes nothing else, so it may arrive late. If
-- something has changed for a waiter, or may change within a second, that waiter must ask by itself: see acquire.lua.
-- Safe to repeat.
--
-- KEYS  the locks and semaphores
-- ARGV  for each of them the member of its queue: the first letter of ARGV 6 of acquire.lua, then the attempt
-- @return {'places', now, ...}, for each the last number that was granted: by it the client sees whether a message
--         about a grant is older than this reply. 0 = the waiter must ask by itself
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local contact = time[1] .. string.sub('00000' .. time[2], -6)
local answer = {'places', now}
for i, key in ipairs(KEYS) do
  local queue, waiters, attempt = key .. ':queue', key .. ':waiters', string.sub(ARGV[i], 2)
  local f = redis.pcall('HMGET', key, 'ms', 'number', 'last', 'crowd')
  local line = f.err and f or redis.pcall('ZRANGE', queue, '0', '0')
  local first = line[1]
  local leads = first == ARGV[i]
  local is_queued = first and (leads or type(redis.pcall('ZRANK', queue, ARGV[i])) == 'number')
  local places = is_queued and redis.pcall('HMGET', waiters, attempt, string.sub(first, 2)) or {}
  local shared = tonumber(f[4] or 0)
  local ends = math.max(f[1] and f[2] and f[2] + f[1] * 1000 or 0, shared)
  answer[i + 2] = 0
  -- The first waiter asks by itself when the lease ends, and a reader that waits first ('r' is byte 114) while others
  -- read. If the first waiter has not asked for 3 s, each waiter behind it asks by itself.
  if places[1] and places[2] and now - string.match(places[2], '^%-?%d+') <= 3000000 and
    ends > now + (leads and 1100000 or 0) and (not leads or shared <= now or string.byte(first) ~= 114) then
    redis.call('PEXPIRE', queue, '10000') -- is never refused. Then Redis accepts the next write even without memory
    redis.call('HSET', waiters, attempt, contact .. string.match(places[1], ' .*$'))
    redis.call('PEXPIRE', waiters, '10000')
    answer[i + 2] = math.max(tonumber(f[2] or 0), tonumber(f[3] or 0))
  end
end
return answer
