-- SPDX-License-Identifier: MIT
-- Gives a free lock to the next waiters. Then the attempt that asks (`me`) takes the lock, or has it already, or waits.
--
-- Before: all of open.lua, life; tells: the first waiter gets a message to ask, because the lock is not given to it;
-- me: the attempt that asks (nil = none) and, of it, kind, lease, label, order, waits (see acquire.lua for these), own
-- (the attempt by which its client owns the lock), permits (how many the semaphore has; nil = a lock).
-- arrives: in a cluster, the slot of the lock is on its way to this server, so this script makes no other key of it.
-- After: answer, if an attempt asked.
local answer, place, mine, rank = nil, nil, false, false
local barges = false -- `me` takes the lock before the waiters
local beside = false -- `me` reads beside its own client, which owns the lock
-- The number of permits changes only while no client has a permit or waits for one.
local differs = me and permits and limit ~= tonumber(permits)
if differs and limit < math.huge and (read > 0 or many > 0) then
  me, answer = nil, {'unlike', now, limit}
elseif differs then
  redis.call('HSET', key, 'permits', permits)
  if redis.call('PTTL', key) == -1 then redis.call('PEXPIRE', key, life) end
  limit = tonumber(permits)
end
if me then
  local its_end, its_number = owned and f[1] == me and not foreign and ends, f[3]
  if not its_end and kind == 'r' and read > 0 and not hidden then
    its_end, its_number = tonumber(redis.call('ZSCORE', readers, me) or nil), redis.call('HGET', notes, me)
  end
  if its_end and its_end > now and its_number then
    answer = {'granted', now, tonumber(its_number), its_end - now}
  else
    place = kind .. me
    rank = many > 0 and redis.call('ZRANK', queue, place)
    beside = kind == 'r' and owned and not foreign and own ~= '' and f[1] == own
    barges = beside or (order == 'u' and not rank and not owned and read == 0)
  end
end
local all = many == 0
-- include: hand_over.lua
if mine then
  if beside and rank then
    redis.call('ZREM', queue, place)
    redis.call('HDEL', waiters, me)
  end
  answer = {'granted', now, mine, lease * 1000}
elseif place then
  local word = 'busy'
  if waits == '1' and not apart and not (hidden and kind == 'r') then
    word = 'queued'
    -- include: join.lua
    -- Redisson may hold the lock for longer than the hash lives. Without the hash the queue is not looked at.
    if foreign and redis.call('PTTL', key) < life + 0 then redis.call('PEXPIRE', key, life) end
  end
  -- 'apart': the attempt has no place in the queue. Its client asks again soon.
  if waits == '1' and word == 'busy' or apart and word == 'queued' then word = 'apart' end
  -- include: holder.lua
  -- One script looks at 64 waiters at most. If it has removed some of them, the next script gets further, so the client
  -- asks again at once.
  local again = looked >= 64 and gone > 0
  answer = {word, now, left, (rank == 0 or again) and 1 or 0, number, many, its_label, mode, last}
end
