-- SPDX-License-Identifier: MIT
-- Gives the lock to one waiter, or to the attempt that asks. If no client listens to the inbox of the waiter, nothing
-- changes. Part of the loop of hand_over.lua.
--
-- Before: all of that loop; each: the member of the queue; attempt, wants (its letter), its_lease, its_label; asks: it
-- is the attempt that asks; reads: it wants to read; queued: it is in the queue.

-- A write comes before the message. If the server refuses that write (out of memory), nothing has changed. If not, it
-- accepts the writes after the message.
if queued then redis.call('PEXPIRE', queue, '10000') end
-- include: number.lua
-- While the slot arrives, a key that is made here would collide with the one that is still to come.
local comes = reads and arrives and (redis.call('PTTL', readers) == -2 or redis.call('PTTL', notes) == -2)
local reply = comes and {err = 'non local key'} or
  reads and redis.pcall('ZADD', readers, string.format('%.0f', now + its_lease * 1000), attempt)
if type(reply) == 'table' then
  if not string.find(reply.err, 'non local key', 1, true) then return reply end
  hidden, stop = true, true
  break
end
-- include: offer.lua
if type(heard) == 'number' and heard > 0 then
  last = its_number + 0
  if asks then mine, tells = last, false end
  if reads then
    redis.call('HSET', notes, attempt, its_number, attempt .. ':label', its_label)
    read, let_in, new_end = read + 1, let_in + 1, math.max(new_end, now + its_lease * 1000)
  else
    -- include: own.lua
    owned, ends, f[1], f[3], f[5] = true, now + its_lease * 1000, attempt, its_number, its_label
    if wants == 'x' then
      redis.call('HSET', key, 'keyed', its_number)
      redis.call('HSET', other, 'mortise:' .. attempt, '1')
      redis.call('PEXPIRE', other, its_lease)
    end
  end
  if queued then
    redis.call('ZREM', queue, each)
    redis.call('HDEL', waiters, attempt)
    gone, many = gone + 1, many - 1
  end
else
  if reads then redis.call('ZREM', readers, attempt) end
  looked, passed = looked + 1, passed + 1
end
