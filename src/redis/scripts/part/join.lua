-- SPDX-License-Identifier: MIT
-- Puts an attempt at the end of the queue, or renews its position there. If the server refuses the first write, the
-- script that includes this ends with that error.
--
-- `queue` is a sorted set of the waiters by the time of their arrival. A member is the mode (w, x or r) and the
-- attempt. The hash `waiters` has for each attempt
-- "<time of its last request in us> <lease in ms> <label>".
--
-- Before: call, key, now, clock, max_grant, readers_until, ttl, queue, waiters, waiter_count; me, my_lease, my_label;
-- my_member: what stands in `queue`; rank: its position there (false = it has none); removed: how many before it were
-- removed; importing: see open.lua.
-- After: waiter_count, rank; queue_elsewhere: it could not be queued.
if rank then
  call('PEXPIRE', queue, '10000') -- is never refused. Then Redis accepts the next write even without memory
  rank = rank - removed
else
  local rear = waiter_count > 0 and call('ZRANGE', queue, '-1', '-1', 'WITHSCORES') or {}
  -- A queue that is not here counts as refused, as by the server that the slot leaves. If the hash was deleted, the
  -- attempt may be in the queue: NX leaves it there.
  local reply = importing and (waiter_count == 0 or call('PTTL', waiters) == -2) and {err = 'non local key'} or
    redis.pcall('ZADD', queue, 'NX', rear[1] and string.format('%.0f', math.max(now, rear[2] + 1)) or clock, my_member)
  if type(reply) == 'table' then
    if not string.find(reply.err, 'non local key', 1, true) then return reply end
    queue_elsewhere = true
  else
    call('PEXPIRE', queue, '10000')
    waiter_count, rank = waiter_count + 1, (rear[1] or reply == 0) and call('ZRANK', queue, my_member) or 0
    if not readers_until then call('HSET', key, 'readers_until', '0') end
    if max_grant == 0 then call('PEXPIRE', key, ttl) end
  end
end
if not queue_elsewhere then
  queue_elsewhere = type(redis.pcall('HSET', waiters, me, clock .. ' ' .. my_lease .. ' ' .. my_label)) == 'table'
  if not queue_elsewhere then call('PEXPIRE', waiters, '10000') end
end
