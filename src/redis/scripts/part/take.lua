-- SPDX-License-Identifier: MIT
-- Gives a free lock to the next ones. The attempt whose request this is takes it, or has it already, or waits.
--
-- Before: all of open.lua, life; `tells`: the first waiter gets a message to ask, since the lock is not given to it;
-- me: the attempt (nil = none asks) and, of it, kind, lease, label, order, waits, own (the attempt by which its client
-- owns the lock), permits (of how many the semaphore is; nil = it is a lock).
-- arrives: in a cluster, the slot of the lock is on its way to this server, so no other key of it is made here.
-- After: answer, if `me` is one.
local answer, place, mine, rank = nil, nil, false, false
local barges, beside = false, false -- it takes the lock before the waiters; its client owns the lock
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
    -- Redisson may hold the lock for longer than the hash lives, which has `crowd`.
    if foreign and redis.call('PTTL', key) < life + 0 then redis.call('PEXPIRE', key, life) end
  end
  -- 'apart': the attempt has no place in the queue. Its client asks again soon.
  if waits == '1' and word == 'busy' or apart and word == 'queued' then word = 'apart' end
  -- include: holder.lua
  -- One script looks at so many waiters at most. If it has removed some, the next one gets further: it asks at once.
  local again = looked >= 64 and gone > 0
  answer = {word, now, left, (rank == 0 or again) and 1 or 0, number, many, its_label, mode, last}
end
