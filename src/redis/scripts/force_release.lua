-- SPDX-License-Identifier: MIT
-- Ends a hold for an administrator, and gives the lock to the next waiter. It ends only the hold that queue.lua named,
-- so a repeated request or a late copy changes nothing. It raises the number (the fencing token counts it), so a store
-- that has seen the larger token refuses writes of the old holder. It sends a message to the old holder: 'T', or 'S' to
-- a reader. It can also end a hold of Redisson.
--
-- KEYS  as of acquire.lua
-- ARGV  1 the number of the hold. A hold of Redisson has none: '-<last number that was granted> <owner>'
--       2 life of the key in ms if a waiter gets the lock for 2 s
--       3 'a' = the slot of the lock is on its way to this server
-- @return {'freed', now} or {'none', now}; or an error if the readers are at another server of a cluster: the client
--         asks again
local key, other, which, life, arrives = KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3] == 'a'
-- include: look.lua
if hidden then return redis.error_reply('TRYAGAIN the readers are at another server') end
local whose, letter
if foreign and which == string.format('-%.0f %s', last, foreign) then
  whose = ''
elseif owned and not foreign and which == f[3] then
  whose, letter = f[1], 'T '
elseif read > 0 then
  -- include: find_reader.lua
  letter = whose and 'S '
end
if whose then
  -- include: number.lua
  last = its_number + 0
  if letter == 'S ' then
    redis.call('ZREM', readers, whose)
    redis.call('HDEL', notes, whose, whose .. ':label')
    read = read - 1
    if not owned then redis.call('HDEL', key, 'ms') end -- `ms` would count from the new number
    redis.call('HSET', key, owned and 'last' or 'number', its_number)
    local latest = redis.call('ZRANGE', readers, '-1', '-1', 'WITHSCORES')
    shared = read > 0 and tonumber(latest[2]) or 0
    redis.call('HSET', key, 'crowd', string.format('%.0f', shared))
  else
    redis.call('HDEL', key, 'ms')
    redis.call('HSET', key, 'number', its_number)
    if other then redis.call('DEL', other) end
    owned, f[3] = false, its_number
  end
  if redis.call('PTTL', key) < life + 0 then redis.call('PEXPIRE', key, life) end
  if letter then
    local attempt = whose
    redis.pcall('PUBLISH', string.match(key, '^[^{]*') .. 'inbox:' .. string.sub(attempt, 1, 16),
      letter .. attempt .. ' ' .. which .. ' ' .. key)
  end
  foreign = nil
end
local me, kind, lease, label, order, waits, own, permits
local tells = false
-- include: take.lua
if whose and other and not owned then redis.pcall('PUBLISH', 'redisson_lock__channel:{' .. other .. '}', '0') end
return {whose and 'freed' or 'none', now}
