-- SPDX-License-Identifier: MIT
-- Puts an attempt at the end of the queue, or renews its place there. If the server refuses the first write, the script
-- that includes this ends with that error.
--
-- Before: key, now, clock, f, last, life, queue, waiters; many: how many wait; me, lease, label; place: the member of
-- `queue`; rank: its place there (false = it has none); gone: how many before it were removed; arrives: see take.lua.
-- After: many, rank; apart: it could not be queued.
if rank then
  redis.call('PEXPIRE', queue, '10000') -- is never refused. Then Redis accepts the next write even without memory
  rank = rank - gone
else
  local rear = many > 0 and redis.call('ZRANGE', queue, '-1', '-1', 'WITHSCORES') or {}
  -- A queue that is not here counts as refused, as by the server that the slot leaves. If the hash was deleted, the
  -- attempt may be in the queue: NX leaves it there.
  local reply = arrives and (many == 0 or redis.call('PTTL', waiters) == -2) and {err = 'non local key'} or
    redis.pcall('ZADD', queue, 'NX', rear[1] and string.format('%.0f', math.max(now, rear[2] + 1)) or clock, place)
  if type(reply) == 'table' then
    if not string.find(reply.err, 'non local key', 1, true) then return reply end
    apart = true
  else
    redis.call('PEXPIRE', queue, '10000')
    many, rank = many + 1, (rear[1] or reply == 0) and redis.call('ZRANK', queue, place) or 0
    if not f[4] then redis.call('HSET', key, 'crowd', '0') end
    if last == 0 then redis.call('PEXPIRE', key, life) end
  end
end
if not apart then
  apart = type(redis.pcall('HSET', waiters, me, clock .. ' ' .. lease .. ' ' .. label)) == 'table'
  if not apart then redis.call('PEXPIRE', waiters, '10000') end
end
