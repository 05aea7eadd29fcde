-- SPDX-License-Identifier: MIT
-- Who runs a key, and who waits for it, in order of arrival. A reply that would be longer than a client reads names
-- fewer waiters.
--
-- KEYS  1 the key
-- ARGV  1 how many waiters at most
-- @return {'held' or 'free', now, left in us, 0 (as in inspect.lua), number, waiters, label, waiting};
--         `waiting` has three items per waiter: us since its last question, 'w', label
local key, most = KEYS[1], tonumber(ARGV[1])
local queue, waiters = key .. ':queue', key .. ':waiters'
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local ends, number, label = unpack(redis.call('HMGET', key, 'ends', 'number', 'label'))
local held, list, bytes = ends and tonumber(ends) > now, {}, 200000
local waiting = most > 0 and redis.call('ZRANGE', queue, 0, most - 1) or {}
for i, each in ipairs(waiting) do
  local attempt = string.sub(each, 2)
  local its = redis.pcall('HMGET', waiters, attempt, attempt .. ':label')
  local silence, its_label = now - math.abs(tonumber(its[1] or 0)), its[2] or ''
  bytes = bytes - #its_label - 40
  if bytes < 0 then break end
  list[3 * i - 2], list[3 * i - 1], list[3 * i] = math.max(silence, 0), 'w', its_label
end
return {held and 'held' or 'free', now, held and ends - now or 0, 0, tonumber(number or 0), redis.call('ZCARD', queue),
  held and label or '', list}
