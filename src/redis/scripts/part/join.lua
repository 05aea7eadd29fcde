-- SPDX-License-Identifier: MIT
-- Puts an attempt at the end of the queue, or renews its place there.
--
-- Before: key, now, clock, f, last, life, queue, waiters; many: how many wait; me, lease, label; place: the member of
-- `queue`; rank: its place there (false = it has none); gone: how many before it were removed; arrives: see take.lua.
-- After: many, rank; apart: it could not be queued.
if rank then
  redis.call('PEXPIRE', queue, '10000') -- is never refused; then Redis accepts the next write without memory, too
  rank = rank - gone
else
  local back = many > 0 and redis.call('ZRANGE', queue, '-1', '-1', 'WITHSCORES') or {}
  local said = arrives and (many == 0 or redis.call('PTTL', waiters) == -2) and {err = 'non local key'} or
    redis.pcall('ZADD', queue, 'NX', back[1] and string.format('%.0f', math.max(now, back[2] + 1)) or clock, place)
  if type(said) == 'table' then
    if not string.find(said.err, 'non local key', 1, true) then return said end
    apart = true
  else
    redis.call('PEXPIRE', queue, '10000')
    many, rank = many + 1, (back[1] or said == 0) and redis.call('ZRANK', queue, place) or 0
    if not f[4] then redis.call('HSET', key, 'crowd', '0') end
    if last == 0 then redis.call('PEXPIRE', key, life) end
  end
end
if not apart then
  apart = type(redis.pcall('HSET', waiters, me, clock .. ' ' .. lease .. ' ' .. label)) == 'table'
  if not apart then redis.call('PEXPIRE', waiters, '10000') end
end
