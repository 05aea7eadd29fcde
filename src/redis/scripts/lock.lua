-- SPDX-License-Identifier: MIT
-- One lock as the server keeps it. Each script is this text between that of prelude.lua and tombstones.lua,
-- which locks of a quorum begin with as well, and that of queue.lua (who waits) and hold.lua (how it is taken
-- and freed); cmake/RedisScripts.cmake puts them together.
--
-- A lock is ONE hash, so that deleting it, by hand or by FLUSHALL, leaves nothing half. Beside the fields o, g,
-- l, e, x and !..., of which those two tell:
--   w  how many wait; absent = nobody, and no x       b  releases with waiters (not in mode f)
--   y  until then a lock that is free is kept for Redisson      c  which waiter hears Redisson's channel
--   h, t, #<ticket>, <attempt>  the queue: see queue.lua
--   r  the number of the last grant with which Redisson's key was written: what has another number is
--      a hold of a client that knows nothing of Redisson, and stands without that key
-- Few fields, since each costs the server time; none longer than 64 bytes as a rule, since then the
-- whole takes 200 bytes and not 600.
--
-- Invariants. After each script: held, or nobody waits who could be told. A number is granted once, and each
-- is larger than the one before. A grant is published after a write only that may be refused, or a waiter
-- could believe what the server then refuses to note (prelude.lua says in which order scripts write).
--
-- KEYS  1 the lock    2 the same lock as Redisson keeps it (mode r only)
-- ARGV  1 whose request it is    2 flags, of which the first is the mode: f fair, u unfair, r with Redisson
local LOOKS = 64 -- waiters that one script looks at
local KEPT = 1500 -- us for Redisson to take a lock that was freed: from the message to its try it takes 600; with 4000
-- its share of holds of 1 ms was three times ours

local MODE = string.sub(ARGV[2], 1, 1)
local R -- the second key
local waiting, foreign, keyed, kept, hears
local theirs -- which hold of Redisson's: "<uuid>:<thread>"; of a read lock one of those who hold it

-- Whether a key is a lock as Redisson keeps it: "<uuid>:<thread>" of whoever holds it, "mode" of a
-- read-write lock, or what we have written, an attempt: 128 bits of a client in hex, and a number.
-- Whatever else is there, such as "item:17" or "1001", is not touched.
local UUID = '^' .. string.rep('%x', 8) .. string.rep('%-' .. string.rep('%x', 4), 4) .. string.rep('%x', 8)
local function is_lock(key)
  if redis.call('HLEN', key) > LOOKS then return false end
  for _, field in ipairs(redis.call('HKEYS', key)) do
    local ours = #field > 32 and string.find(field, '^%x+$')
    if not ours and not string.find(field, UUID .. ':%d+') and field ~= 'mode' then return false end
    if field ~= 'mode' then theirs = theirs or string.sub(field, 1, 64) end
  end
  return true
end

-- Reads one lock. A lock in Redisson's hands counts as held, by an owner without a name.
local function open(key, redisson)
  K, R = key, redisson
  local f = redis.call('HMGET', K, 'o', 'g', 'w', 'x', 'e', 'r', 'y', 'c')
  read_hold(f[1], f[2])
  waiting, tombstones, expires = tonumber(f[3]) or 0, f[4], tonumber(f[5]) or 0
  foreign, keyed, theirs = false, number > 0 and tonumber(f[6]) == number, nil
  if R then
    local left = redis.call('PTTL', R)
    local ours = left ~= -2 and owner and redis.call('HEXISTS', R, owner) == 1
    held = held and (ours or not keyed)
    if left ~= -2 and not ours then
      if not is_lock(R) then error('the key of that name is not a lock of Redisson') end
      foreign, held = true, true
      -- Without a time to live nothing is known of its end.
      owner, ends = '', now + (left < 0 and 3600000 or math.max(left, 1)) * 1000
    elseif ours and not held then
      redis.call('DEL', R)
    end
    -- No longer than it can have been set for, although the clock was set back.
    kept, hears = tonumber(f[7]) or 0, f[8]
    if held or kept <= now or kept > now + KEPT then kept = nil end
  end
end

-- After the number of waiters has changed, or the tombstones: without the field w the quick ways are open.
function count()
  if waiting > 0 or tombstones then
    redis.call('HSET', K, 'w', waiting)
  else
    redis.call('HDEL', K, 'w')
  end
end

-- Writes Redisson's key for the hold that stands.
local function write_key()
  keyed = true
  redis.call('HSET', K, 'r', digits(number))
  redis.call('HSET', R, owner, 1)
  redis.call('PEXPIRE', R, lease_now)
end

-- Makes an attempt the owner; lease in ms. The lock must be free.
local function grant(attempt, lease, label, plain)
  number = math.max(number + 1, now)
  owner, held, since, lease_now, ends = attempt, true, now, lease, now + lease * 1000
  redis.call('HSET', K, 'o', attempt .. ' ' .. digits(number), 'g', digits(now) .. ' ' .. lease, 'l', label)
  remember(lease)
  if R and not plain then write_key() end
end
