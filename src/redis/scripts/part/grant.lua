-- SPDX-License-Identifier: MIT
-- Gives the lock to one waiter, or to the attempt that asks. If no client subscribes to the inbox of the waiter,
-- nothing changes. Part of the loop of hand_over.lua.
--
-- Before: all of that loop; member: what stands in the queue; attempt, its_mode, new_lease, new_label; asks: it is the
-- attempt that asks; reads: it wants to read; is_queued: it is in the queue.

-- A write comes before the message. If the server refuses that write (out of memory), nothing has changed. If not, it
-- accepts the writes after the message.
if is_queued then call('PEXPIRE', queue, '10000') end
-- include: number.lua
-- While the slot arrives, a key that is made here would collide with the one that is still to come.
local is_missing = reads and importing and (call('PTTL', readers) == -2 or call('PTTL', reader_info) == -2)
local reply = is_missing and {err = 'non local key'} or
  reads and redis.pcall('ZADD', readers, string.format('%.0f', now + new_lease * 1000), attempt)
if type(reply) == 'table' then
  if not string.find(reply.err, 'non local key', 1, true) then return reply end
  readers_elsewhere, stop = true, true
  break
end
-- include: offer.lua
if type(receivers) == 'number' and receivers > 0 then
  max_grant = new_max_grant
  if asks then my_grant, notify_only = max_grant, false end
  if reads then
    call('HSET', reader_info, attempt, new_grant, attempt .. ':label', new_label)
    reader_count, admitted = reader_count + 1, admitted + 1
    new_readers_end = math.max(new_readers_end, now + new_lease * 1000)
  else
    -- include: own.lua
    is_owned, lease_ends, owner, grant, owner_label = true, now + new_lease * 1000, attempt, new_grant, new_label
    if its_mode == 'x' then
      call('HSET', key, 'redisson_grant', new_grant)
      call('HSET', redisson_key, 'mortise:' .. attempt, '1')
      call('PEXPIRE', redisson_key, new_lease)
    end
  end
  if is_queued then
    call('ZREM', queue, member)
    call('HDEL', waiters, attempt)
    removed, waiter_count = removed + 1, waiter_count - 1
  end
else
  if reads then call('ZREM', readers, attempt) end
  examined, skipped = examined + 1, skipped + 1
end
