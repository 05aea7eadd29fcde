-- SPDX-License-Identifier: MIT
-- Ends a script whose attempt does not run the key: the attempt joins the queue if it waits, and the script returns how
-- the key is held. The keys of the queue are those of key_waiters.lua.
--
-- Before: all of once/begin.lua and of key_waiters.lua.
local word, left, waiter_count = 'busy', held and ends - now or 0, 0
-- While the slot arrives, a queue that is made here would collide with the one that is still to come.
queue_elsewhere = queue_elsewhere or (importing and not has_waiters)
if string.sub(words, 1, 4) == 'wait' then
  local score = not queue_elsewhere and redis.pcall('ZSCORE', queue, my_member)
  local reply = score
  if type(score) == 'string' then call('HDEL', key, '-') end -- as in key_waiters.lua: it keeps its position
  if not queue_elsewhere and type(reply) ~= 'table' then
    reply = redis.pcall('HSET', waiters, me, clock .. ' ' .. my_label)
  end
  if type(reply) == 'table' and not string.find(reply.err, 'non local key', 1, true) then return reply end
  word = (queue_elsewhere or type(reply) == 'table') and 'resharding' or 'queued'
  if word == 'queued' then
    call('PEXPIRE', waiters, '10000')
    if not score then
      local latest = call('ZRANGE', queue, '-1', '-1', 'WITHSCORES')
      call('ZADD', queue, string.format('%.0f', math.max(now, tonumber(latest[2] or 0) + 1)), my_member)
    end
    call('PEXPIRE', queue, '10000')
    call('HSET', key, 'has_waiters', '1')
  end
end
if (has_waiters and not queue_elsewhere) or word == 'queued' then waiter_count = redis.pcall('ZCARD', queue) end
if type(waiter_count) ~= 'number' then waiter_count = 0 end
local is_first = (not first or first == my_member) and 1 or 0
return {word, now, left, is_first, tonumber(grant or 0), waiter_count, held and label or ''}
