-- SPDX-License-Identifier: MIT
-- Ends a hold for an administrator, and gives the lock to the next waiter. It ends only the hold that queue.lua named,
-- so a repeated request or a late copy changes nothing. It raises the grant number (the fencing token is made of it),
-- so a store that has seen the larger token refuses writes of the old holder. It sends a message to the old holder:
-- 'T', or 'S' to a reader. It can also end a hold of Redisson, whose holder gets no message.
--
-- KEYS  as of acquire.lua
-- ARGV  1 the grant number of the hold. A hold of Redisson has none: '-<largest grant number> <owner>'
--       2 time to live of the key in ms if a waiter gets the lock for 2 s
--       3 importing = the slot of the lock is on its way to this server
-- @return {'released', now} or {'not_held', now}; or an error if the readers are at another server of a cluster: the
--         client asks again
local call, key, redisson_key, which, ttl = redis.call, KEYS[1], KEYS[2], ARGV[1], ARGV[2]
local importing = ARGV[3] == 'importing'
-- include: fields.lua
-- include: look.lua
if readers_elsewhere then return redis.error_reply('TRYAGAIN the readers are at another server') end
local holder, kind
if redisson_owner and which == string.format('-%.0f %s', max_grant, redisson_owner) then
  holder = ''
elseif is_owned and not redisson_owner and which == grant then
  holder, kind = owner, 'T '
elseif reader_count > 0 then
  -- include: find_reader.lua
  kind = holder and 'S '
end
if holder then
  -- include: number.lua
  max_grant = new_max_grant
  if kind == 'S ' then
    call('ZREM', readers, holder)
    call('HDEL', reader_info, holder, holder .. ':label')
    reader_count = reader_count - 1
    if not is_owned then call('HDEL', key, LEASE) end -- LEASE would count from the new number
    call('HSET', key, is_owned and 'max_grant' or GRANT, new_grant)
    local latest = call('ZRANGE', readers, '-1', '-1', 'WITHSCORES')
    readers_end = reader_count > 0 and tonumber(latest[2]) or 0
    call('HSET', key, 'readers_until', string.format('%.0f', readers_end))
  else
    call('HDEL', key, LEASE)
    call('HSET', key, GRANT, new_grant)
    if redisson_key then call('DEL', redisson_key) end
    is_owned, grant = false, new_grant
  end
  if call('PTTL', key) < ttl + 0 then call('PEXPIRE', key, ttl) end
  if kind then
    local attempt = holder
    redis.pcall('PUBLISH', string.match(key, '^[^{]*') .. 'inbox:' .. string.sub(attempt, 1, 16),
      kind .. attempt .. ' ' .. which .. ' ' .. key)
  end
  redisson_owner = nil
end
local me, mode, my_lease, my_label, order, waits, own_hold, permits -- none: no attempt asks
local notify_only = false
-- include: take.lua
if holder and redisson_key and not is_owned then
  redis.pcall('PUBLISH', 'redisson_lock__channel:{' .. redisson_key .. '}', '0')
end
return {holder and 'released' or 'not_held', now}
