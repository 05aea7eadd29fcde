-- SPDX-License-Identifier: MIT
-- Reports the runner of a key, and its waiters in order of arrival. It lists fewer of them if the reply would be longer
-- than a client reads.
--
-- KEYS  1 the key
-- ARGV  1 how many waiters at most
-- @return {'held' or 'free', now, left in us, 0, number, waiters, label, waiting}, as the reply about a lock. The 0
--         means that no attempt asks; `waiting` has three items per waiter: us since its last request or message to
--         it, 'w', label
local call, key, most = redis.call, KEYS[1], tonumber(ARGV[1])
-- include: fields.lua
local queue, waiters = key .. ':queue', key .. ':waiters'
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
local lease, grant, label = unpack(call('HMGET', key, LEASE, GRANT, LABEL))
local ends, list, bytes = lease and grant + lease * 1000, {}, 200000
local held = ends and ends > now
local waiting = most > 0 and call('ZRANGE', queue, '0', most - 1) or {}
for i, member in ipairs(waiting) do
  local stored = redis.pcall('HGET', waiters, string.sub(member, 2))
  local contact, its_label = string.match(type(stored) == 'string' and stored or '0 ', '^%-?(%d+) (.*)$')
  bytes = bytes - #its_label - 40
  if bytes < 0 then break end
  list[3 * i - 2], list[3 * i - 1], list[3 * i] = math.max(now - contact, 0), 'w', its_label
end
return {held and 'held' or 'free', now, held and ends - now or 0, 0, tonumber(grant or 0), call('ZCARD', queue),
  held and label or '', list}
