-- SPDX-License-Identifier: MIT
-- Gives a free lock to the next waiters. Then the attempt that asks (`me`) takes the lock, or has it already, or waits.
--
-- Before: all of open.lua, ttl; notify_only: the first waiter only gets a message to ask, and not the lock; me: the
-- attempt that asks (nil = none) and, of it, my_lease, my_label, mode, order, waits, own_hold, permits (acquire.lua
-- lists them).
-- After: answer, if an attempt asked.
local answer, my_member, my_grant, rank = nil, nil, false, false
local overtakes = false -- `me` takes the lock before the waiters
local beside_own_hold = false -- `me` reads beside its own client, which owns the lock
-- The number of permits changes only while no client has a permit or waits for one.
local differs = me and permits and reader_limit ~= tonumber(permits)
if differs and reader_limit < math.huge and (reader_count > 0 or waiter_count > 0) then
  me, answer = nil, {'permits_differ', now, reader_limit}
elseif differs then
  call('HSET', key, 'permits', permits)
  if call('PTTL', key) == -1 then call('PEXPIRE', key, ttl) end
  reader_limit = tonumber(permits)
end
if me then
  local its_end, its_grant = is_owned and owner == me and not redisson_owner and lease_ends, grant
  if not its_end and mode == 'r' and reader_count > 0 and not readers_elsewhere then
    its_end, its_grant = tonumber(call('ZSCORE', readers, me) or nil), call('HGET', reader_info, me)
  end
  if its_end and its_end > now and its_grant then
    answer = {'granted', now, tonumber(its_grant), its_end - now}
  else
    my_member = mode .. me
    rank = waiter_count > 0 and call('ZRANK', queue, my_member)
    beside_own_hold = mode == 'r' and is_owned and not redisson_owner and own_hold ~= '' and owner == own_hold
    overtakes = beside_own_hold or (order == 'unfair' and not rank and not is_owned and reader_count == 0)
  end
end
local saw_all = waiter_count == 0
-- include: hand_over.lua
if my_grant then
  if beside_own_hold and rank then
    call('ZREM', queue, my_member)
    call('HDEL', waiters, me)
  end
  answer = {'granted', now, my_grant, my_lease * 1000}
elseif my_member then
  local word = 'busy'
  if waits == 'wait' and not queue_elsewhere and not (readers_elsewhere and mode == 'r') then
    word = 'queued'
    -- include: join.lua
    -- Redisson may hold the lock for longer than the hash lives. Without the hash the queue is not looked at.
    if redisson_owner and call('PTTL', key) < ttl + 0 then call('PEXPIRE', key, ttl) end
  end
  -- 'resharding': the attempt has no place in the queue. Its client asks again soon.
  if waits == 'wait' and word == 'busy' or queue_elsewhere and word == 'queued' then word = 'resharding' end
  -- include: holder.lua
  -- One script looks at 64 waiters without success at most. If it has removed some of them, the next script gets
  -- further, so the client asks again at once.
  local again = examined >= 64 and removed > 0
  answer = {word, now, left, (rank == 0 or again) and 1 or 0, held_grant, waiter_count, held_label, held_mode,
    max_grant}
end
