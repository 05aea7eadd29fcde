-- SPDX-License-Identifier: MIT
-- Renews the positions of many waiters of one client in their queues. It changes nothing else, so it may arrive late.
-- If something has changed for a waiter, or may change within a second, that waiter must ask by itself: see
-- acquire.lua. Safe to repeat.
--
-- KEYS  the locks and semaphores
-- ARGV  for each of them the member of its queue: the first letter of ARGV 6 of acquire.lua, then the attempt
-- @return {'waiting', now, ...}, for each the largest grant number: by it the client sees whether a message about a
--         grant is older than this reply. 0 = the waiter must ask by itself
local call, pcall = redis.call, redis.pcall
-- include: fields.lua
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
local contact = time[1] .. string.sub('00000' .. time[2], -6)
local answer = {'waiting', now}
for i, key in ipairs(KEYS) do
  local queue, waiters, my_member = key .. ':queue', key .. ':waiters', ARGV[i]
  local me = string.sub(my_member, 2)
  local f = pcall('HMGET', key, LEASE, GRANT, 'max_grant', 'readers_until')
  local line = f.err and f or pcall('ZRANGE', queue, '0', '0')
  local first = line[1]
  local leads = first == my_member
  local is_queued = first and (leads or type(pcall('ZRANK', queue, my_member)) == 'number')
  local stored = is_queued and pcall('HMGET', waiters, me, string.sub(first, 2)) or {}
  local readers_end = tonumber(f[4] or 0)
  local held_until = math.max(f[1] and f[2] and f[2] + f[1] * 1000 or 0, readers_end)
  answer[i + 2] = 0
  -- The first waiter asks by itself from 1.1 s before the lease ends. A reader that is the first waiter while others
  -- read always asks by itself ('r' is byte 114). If the first waiter has not asked for 3 s, each waiter behind it asks
  -- by itself. So does each waiter once the lease is over.
  if stored[1] and stored[2] and now - string.match(stored[2], '^%-?%d+') <= 3000000 and
    held_until > now + (leads and 1100000 or 0) and (not leads or readers_end <= now or string.byte(first) ~= 114) then
    call('PEXPIRE', queue, '10000') -- is never refused. Then Redis accepts the next write even without memory
    call('HSET', waiters, me, contact .. string.match(stored[1], ' .*$'))
    call('PEXPIRE', waiters, '10000')
    answer[i + 2] = math.max(tonumber(f[2] or 0), tonumber(f[3] or 0))
  end
end
return answer
