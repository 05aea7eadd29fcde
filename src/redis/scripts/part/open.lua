-- SPDX-License-Identifier: MIT
-- Reads what is not in the first look at a lock: waiters, readers, and Redisson's key.
--
-- In a cluster the slot of a lock may be on its way to another server, key by key. Then a key that is not here may be
-- there, or nowhere. The server that the slot leaves refuses the command. The server that it comes to (`importing`)
-- finds nothing. If `queue` or `waiters` is not here (`queue_elsewhere`), the lock counts as one without waiters. If
-- the readers are not here (`readers_elsewhere`), it is held until `readers_until`. If the hash is not here, it is
-- nowhere: the server that the slot leaves sends on a request only if it does not have the hash. Without the hash the
-- other keys do not count.
--
-- Before: call, key, redisson_key, now, clock, owner, grant, readers_until, lease_ends, max_grant, is_owned, importing.
-- After: the same variables, but a hold of Redisson counts as owned by the owner '', and a hold whose Redisson key is
--   lost counts as over. Besides
--   readers_end: when the last lease of a reader ends; 0 = no client reads
--   waiter_count, reader_count, reader_limit (math.huge unless it is a semaphore; its permits are readers)
--   max_grant: the largest number that was granted, see look.lua
--   redisson_owner: the thread of Redisson that holds the lock. is_reserved: the lock is free, and reserved for
--     Redisson, until the time in the field `reserved_until`. redisson_listener: the attempt that subscribes to
--     Redisson's channel
-- The field `redisson_grant` has the number of the grant for which a script wrote Redisson's key.
local queue, waiters = key .. ':queue', key .. ':waiters'
local readers, reader_info = key .. ':readers', key .. ':reader_info'
local reader_count, reader_limit, waiter_count, readers_end = 0, math.huge, 0, tonumber(readers_until or 0)
local queue_elsewhere, readers_elsewhere = false, false
local redisson_owner, is_reserved, redisson_listener = nil, false, nil
importing = importing and (grant or readers_until)
if readers_until then
  local g = call('HMGET', key, 'max_grant', 'permits')
  max_grant, reader_limit = math.max(max_grant, tonumber(g[1] or 0)), tonumber(g[2] or reader_limit)
  waiter_count = redis.pcall('ZCARD', queue)
  if type(waiter_count) == 'table' then
    queue_elsewhere, waiter_count = string.find(waiter_count.err, 'non local key', 1, true), 0
  end
  queue_elsewhere = queue_elsewhere or (importing and (waiter_count == 0 or call('PTTL', waiters) == -2))
  if queue_elsewhere then waiter_count = 0 end
end
if readers_end > now then
  local latest = redis.pcall('ZRANGE', readers, '-1', '-1', 'WITHSCORES')
  readers_elsewhere = latest.err and string.find(latest.err, 'non local key', 1, true)
  if importing and not latest.err then
    readers_elsewhere = tonumber(latest[2] or 0) < readers_end or call('PTTL', reader_info) == -2
  end
  if readers_elsewhere then
    -- The number is unknown. No permit is free, and no attempt can own the lock.
    reader_count = math.min(reader_limit, 1000000)
  elseif not latest.err then
    reader_count = call('ZCOUNT', readers, '(' .. clock, '+inf')
  end
end
if redisson_key then
  local g = call('HMGET', key, 'redisson_grant', 'reserved_until', 'redisson_listener')
  local their_ttl = call('PTTL', redisson_key)
  local has_field = their_ttl ~= -2 and owner and call('HEXISTS', redisson_key, 'mortise:' .. owner) == 1
  redisson_listener, is_owned = g[3], is_owned and (has_field or g[1] ~= grant)
  if their_ttl ~= -2 and not has_field then
    -- A key of other software is not a lock. Each field must be "<uuid>:<thread>", "mode", or one that Mortise wrote.
    local fields = call('HLEN', redisson_key) <= 64 and call('HKEYS', redisson_key) or {''}
    for _, field in ipairs(fields) do
      if string.find(field, '^%x%x%x%x%x%x%x%x%-%x%x%x%x%-%x%x%x%x%-%x%x%x%x%-%x%x%x%x%x%x%x%x%x%x%x%x:%d+') then
        redisson_owner = redisson_owner or string.sub(field, 1, 64)
      elseif field ~= 'mode' and not (string.find(field, '^mortise:[%w_-]+$') and #field > 24) then
        error('the key of that name is not a lock of Redisson')
      end
    end
    -- Without a time to live its end is unknown.
    lease_ends = now + (their_ttl < 0 and 3600000 or math.max(their_ttl, 1)) * 1000
    is_owned, redisson_owner, owner = true, redisson_owner or '', ''
  elseif has_field and not is_owned then
    call('DEL', redisson_key) -- of a hold whose lease is over
  end
  local reserved_until = tonumber(g[2] or 0)
  is_reserved = not is_owned and reserved_until > now and reserved_until <= now + 1500
end
