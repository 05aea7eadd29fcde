-- SPDX-License-Identifier: MIT
-- Who waits, in order of arrival: members 'w' (wants to own) or 'r' (wants to read) and the attempt. Their score in
-- `heard` is the time of their last question, negative from a hint to the next question. A waiter that was silent for
-- 3 s leaves the queue. So does one from whose question the clock was set back; it asks again within a second.
-- Before: key, now, queue, heard. After: waiting, told, and read: whether a reader has the vote.
waiting = redis.call('ZRANGE', queue, 0, -1)
if waiting[1] then
  local contacts, living, silent = redis.call('ZMSCORE', heard, unpack(waiting)), {}, {}
  for i, each in ipairs(waiting) do
    local contact = tonumber(contacts[i] or 0)
    told[each] = contact < 0
    contact = math.abs(contact)
    local list = contact <= now and contact + 3000000 > now and living or silent
    list[#list + 1] = each
  end
  if silent[1] then
    redis.pcall('ZREM', queue, unpack(silent))
    redis.pcall('ZREM', heard, unpack(silent))
  end
  waiting = living
end
local latest = redis.call('ZRANGE', key .. ':readers', -1, -1, 'WITHSCORES')
read = tonumber(latest[2] or 0) > now
