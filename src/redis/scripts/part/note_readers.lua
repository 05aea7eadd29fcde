-- SPDX-License-Identifier: MIT
-- Writes into the hash which readers and waiters the lock has now, after grants. Removes readers whose lease is over,
-- 64 at a time.
--
-- Before: all of hand_over.lua; new_end: when the last lease of a new reader ends; 0 = there is no new reader.
if new_end > 0 then
  shared = math.max(new_end, shared)
  if owned then
    redis.call('HSET', key, 'last', string.format('%.0f', last), 'crowd', string.format('%.0f', shared))
  else
    f[3] = string.format('%.0f', last)
    redis.call('HSET', key, 'number', f[3], 'crowd', string.format('%.0f', shared))
    redis.call('HDEL', key, 'ms', 'last')
  end
  local lapsed = redis.call('ZRANGE', readers, '1', clock, 'BYSCORE', 'LIMIT', '0', '64')
  for _, each in ipairs(lapsed) do
    redis.call('ZREM', readers, each)
    redis.call('HDEL', notes, each, each .. ':label')
  end
  local lives = life + math.max(0, math.ceil((last - now) / 1000))
  for _, each in ipairs({key, readers, notes}) do
    if redis.call('PTTL', each) < lives then redis.call('PEXPIRE', each, string.format('%.0f', lives)) end
  end
elseif all and f[4] and read == 0 and many == 0 and not apart and last == tonumber(f[3] or 0) then
  -- No client waits or reads: the next one takes the lock without a look at the other keys. But if a reader beside the
  -- last owner got a larger number, `last` keeps it: `number` stays as it is, so that a repeated release of that owner
  -- finds its hold.
  redis.call('HDEL', key, 'crowd', 'last')
  f[4], shared = false, 0
end
