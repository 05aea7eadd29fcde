-- SPDX-License-Identifier: MIT
-- Who waits, in order of arrival: members 'w' (wants to own) or 'r' (wants to read) and the attempt. Their score in
-- `contacts` is the time of their last request. A negative score is minus the time at which a hint was sent to the
-- waiter, which has sent no request since. A waiter that was silent for 3 s leaves the queue. So does a waiter whose
-- score is in the future, because the clock was set back; it asks again within a second.
-- Before: key, now, queue, contacts (two keys). After: waiting; notified: which of them have got a hint; read: whether
-- a reader has the vote.
waiting = redis.call('ZRANGE', queue, 0, -1)
if waiting[1] then
  local times, living, silent = redis.call('ZMSCORE', contacts, unpack(waiting)), {}, {}
  for i, each in ipairs(waiting) do
    local contact = tonumber(times[i] or 0)
    notified[each] = contact < 0
    contact = math.abs(contact)
    local list = contact <= now and contact + 3000000 > now and living or silent
    list[#list + 1] = each
  end
  if silent[1] then
    redis.pcall('ZREM', queue, unpack(silent))
    redis.pcall('ZREM', contacts, unpack(silent))
  end
  waiting = living
end
local latest = redis.call('ZRANGE', key .. ':readers', -1, -1, 'WITHSCORES')
read = tonumber(latest[2] or 0) > now
