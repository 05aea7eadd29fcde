-- SPDX-License-Identifier: MIT
-- Gives a lock to the first living waiter, or to all readers that lead the queue. A waiter lives if a client subscribes
-- to its inbox and if it sent a request within 3 s. (Subscribers alone prove little: monitors, stopped processes and
-- forked children also count.) A silent waiter leaves the queue. A waiter without a subscriber is passed over, and
-- keeps its position. If all waiters are passed over, the attempt that asks gets the lock.
--
-- One script looks at 64 waiters without success at most, and admits 256 readers.
--
-- Before: all of take.lua. After: is_owned, lease_ends, reader_count, max_grant, owner, grant, owner_label as they are
-- now; my_grant: the number of the hold that `me` got; removed: how many waiters left the queue; saw_all: the script
-- has looked at every waiter that is at this server; examined: how many it removed or passed over.
local examined, skipped, removed, admitted, new_readers_end = 0, 0, 0, 0, 0
local more = 0 -- how many waiters to fetch after the next one
local me_first = my_member and not is_reserved and (overtakes or (waiter_count == 0 and not is_owned))
local stop = is_reserved and not notify_only
while not stop and examined < 64 and (notify_only or me_first or (not is_owned and reader_count < reader_limit)) do
  local front = me_first and {my_member} or waiter_count > 0 and call('ZRANGE', queue, skipped, skipped + more) or {}
  local is_queued = front[1] and not me_first
  if is_queued then
    more = 15
  elseif not me_first then
    saw_all, stop = true, true
    if my_member and not my_grant then front = {my_member} end
  end
  for _, member in ipairs(front) do
    local attempt, its_mode = string.sub(member, 2), string.sub(member, 1, 1)
    local asks, reads = member == my_member, its_mode == 'r'
    if examined == 64 or
      (not notify_only and ((is_owned and not (beside_own_hold and asks)) or reader_count >= reader_limit)) then
      stop = true
      break
    end
    local stored = not asks and redis.pcall('HGET', waiters, attempt)
    if type(stored) == 'table' and string.find(stored.err, 'non local key', 1, true) then
      queue_elsewhere, saw_all, stop = true, true, true
      break
    end
    local contact, new_lease, new_label = now, my_lease, my_label
    if not asks then
      -- include: waiter.lua
    end
    if contact and reads and not asks and reader_count > admitted then
      -- It may have got a hold while its queue was at another server of the cluster.
      local its_end = redis.pcall('ZSCORE', readers, attempt)
      if type(its_end) == 'string' and its_end + 0 > now then contact = nil end
    end
    if not contact then
      call('ZREM', queue, member)
      call('HDEL', waiters, attempt)
      examined, removed, waiter_count = examined + 1, removed + 1, waiter_count - 1
    elseif not notify_only and not reads and reader_count > 0 then
      stop = true
      break
    elseif (notify_only and not (asks and overtakes)) or
      (not asks and (admitted == 256 or (its_mode == 'x' and not redisson_key))) then
      -- This waiter must ask. Only a script of its own request may name Redisson's key, and this one admits no more.
      local receivers = asks and 1 or redis.pcall('PUBLISH',
        string.match(key, '^[^{]*') .. 'inbox:' .. string.sub(attempt, 1, 16), 'L ' .. attempt .. ' ' .. key)
      stop = type(receivers) == 'number' and receivers > 0
      examined, skipped = examined + 1, skipped + 1
      if stop then break end
    else
      -- include: grant.lua
    end
  end
  me_first, saw_all = false, saw_all or waiter_count == 0
  stop = stop or (waiter_count == 0 and (my_grant or not my_member))
end
-- include: admitted.lua
