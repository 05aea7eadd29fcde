-- SPDX-License-Identifier: MIT
-- Reads what is not in the first look at a lock: waiters, readers, and Redisson's key.
--
-- In a cluster the slot of a lock may be on its way to another server, key by key. Then a key that is not here may be
-- there, or nowhere. The server that the slot leaves refuses the command. The server that it comes to (`arrives`) finds
-- nothing. If the queue is not here, or the places of its waiters (`apart`), the lock counts as one without waiters. If
-- the readers are not here (`hidden`), it is held until the time in `crowd`. If the hash is not here, there were no
-- other keys at the other server either.
--
-- Before: key, other, now, clock, f (owner, ms, number, crowd, label), ends, last, owned.
-- After: the same as they count (a hold of Redisson is owned, by an owner without a name), and
--   shared: the field `crowd`: when the last lease of a reader ends; 0 = no reader, or no field
--   many: how many wait
--   read, limit: how many readers hold the lock, and how many may (any number unless it is a semaphore)
--   last: the largest number that was granted: a reader beside the owner may have a larger one than the owner
--   foreign: the thread of Redisson that holds the lock. kept: the lock is free, and reserved for Redisson until the
--     time in the field `kept`. hearer: the attempt that listens to Redisson's channel, from the field `hears`
-- The field `keyed` has the number of the grant for which a script wrote Redisson's key.
local queue, waiters, readers, notes = key .. ':queue', key .. ':waiters', key .. ':readers', key .. ':notes'
local read, limit, many, shared, apart, hidden = 0, math.huge, 0, tonumber(f[4] or 0), false, false
local foreign, kept, hearer = nil, false, nil
arrives = arrives and (f[3] or f[4])
if f[4] then
  local g = redis.call('HMGET', key, 'last', 'permits')
  last, limit = math.max(last, tonumber(g[1] or 0)), tonumber(g[2] or limit)
  many = redis.pcall('ZCARD', queue)
  if type(many) == 'table' then apart, many = string.find(many.err, 'non local key', 1, true), 0 end
  apart = apart or (arrives and (many == 0 or redis.call('PTTL', waiters) == -2))
  if apart then many = 0 end
end
if shared > now then
  local latest = redis.pcall('ZRANGE', readers, '-1', '-1', 'WITHSCORES')
  hidden = latest.err and string.find(latest.err, 'non local key', 1, true)
  if arrives and not latest.err then
    hidden = tonumber(latest[2] or 0) < shared or redis.call('PTTL', notes) == -2
  end
  if hidden then
    read = math.min(limit, 1000000)
  elseif not latest.err then
    read = redis.call('ZCOUNT', readers, '(' .. clock, '+inf')
  end
end
if other then
  local g = redis.call('HMGET', key, 'keyed', 'kept', 'hears')
  local lives = redis.call('PTTL', other)
  local has_field = lives ~= -2 and f[1] and redis.call('HEXISTS', other, 'mortise:' .. f[1]) == 1
  hearer, owned = g[3], owned and (has_field or g[1] ~= f[3])
  if lives ~= -2 and not has_field then
    -- A key of other software is not a lock. Each field must be "<uuid>:<thread>", "mode", or one that Mortise wrote.
    local fields = redis.call('HLEN', other) <= 64 and redis.call('HKEYS', other) or {''}
    for _, each in ipairs(fields) do
      if string.find(each, '^%x%x%x%x%x%x%x%x%-%x%x%x%x%-%x%x%x%x%-%x%x%x%x%-%x%x%x%x%x%x%x%x%x%x%x%x:%d+') then
        foreign = foreign or string.sub(each, 1, 64)
      elseif each ~= 'mode' and not (string.find(each, '^mortise:[%w_-]+$') and #each > 24) then
        error('the key of that name is not a lock of Redisson')
      end
    end
    -- Without a time to live its end is unknown.
    owned, ends, foreign, f[1] = true, now + (lives < 0 and 3600000 or math.max(lives, 1)) * 1000, foreign or '', ''
  elseif has_field and not owned then
    redis.call('DEL', other) -- of a hold that has lapsed
  end
  local till = tonumber(g[2] or 0)
  kept = not owned and till > now and till <= now + 1500
end
