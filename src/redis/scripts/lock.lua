-- SPDX-License-Identifier: MIT
-- One lock as the server keeps it. cmake/RedisScripts.cmake joins each script from prelude.lua, tombstones.lua, this
-- text, readers.lua (readers), queue.lua (waiters) and hold.lua (how a lock is taken and freed).
--
-- A lock is ONE hash, so that deleting it, by hand or by FLUSHALL, leaves nothing half. Beside the fields x and
-- !..., of which those two tell:
--   o  "<number> <attempt> <label>" of the owner, or of the last one; see written()
--   g  when the lease ends, in ms behind the number: of a new hold the lease; or, from FAR on, so much less behind
--      the beginning of the number's BUCKET: for a batch of renewals that is one text; absent = it was freed
--   w  how many wait; absent = nobody, and no x       b  releases with waiters (not in mode f)
--   y  until then a lock that is free is kept for Redisson      c  which waiter hears Redisson's channel
--   h, t, #<ticket>, <attempt>  the queue: see queue.lua
--   s, k, z, n, @<attempt>  who reads; o and g are about all of them then: see readers.lua
--   r  the number of the last grant with which Redisson's key was written: what has another number is
--      a hold of a client that knows nothing of Redisson, and stands without that key
-- Few fields, since each that is read costs the server 0.2 us; g is a plain number, which Redis keeps in as few bytes
-- as it needs; none longer than 64 bytes as a rule, since then the whole takes 200 bytes and not 600.
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

local BUCKET = 4096000000 -- us: a key's end is moved once in such a while of use; which one it is, all but the
-- last eight digits of written() say
local FAR = 100000000 -- ms, longer than any lease

local function bucket_of(moment)
  return moment - moment % BUCKET
end

local MODE = string.sub(ARGV[2], 1, 1)
local R -- the second key
local waiting, foreign, keyed, kept, hears
local label, lease_now -- of the owner; in ms: of the hold that this script makes, or renews
local run, begins, answers, shown -- of a key with a memory, see once/record.lua; nil = this is about a lock
local theirs -- which hold of Redisson's: "<uuid>:<thread>"; of a read lock one of those who hold it
local permits -- of a semaphore: how many there are
local readers, beside, sign, make_readers, open_readers, end_readers, join -- see readers.lua

-- Whether a key is a lock as Redisson keeps it: "<uuid>:<thread>" of whoever holds it, "mode" of a
-- read-write lock, or what we have written (OURS and an attempt, which by itself could be anybody's word).
-- Whatever else is there, such as "item:17" or "1001", is not touched.
local OURS = 'mortise:'
local UUID = '^' .. string.rep('%x', 8) .. string.rep('%-' .. string.rep('%x', 4), 4) .. string.rep('%x', 8)
local function is_lock(key)
  if redis.call('HLEN', key) > LOOKS then return false end
  for _, field in ipairs(redis.call('HKEYS', key)) do
    local ours = string.find(field, '^' .. OURS .. '[%w_-]+$') and #field > #OURS + 16
    if not ours and not string.find(field, UUID .. ':%d+') and field ~= 'mode' then return false end
    if field ~= 'mode' then theirs = theirs or string.sub(field, 1, 64) end
  end
  return true
end

-- Reads one lock. A lock in Redisson's hands counts as held, by an owner without a name.
local function open(key, redisson)
  K, R = key, redisson
  local f = redis.call('HMGET', K, 'o', 'g', 'w', 'x', 'r', 'y', 'c')
  local seconds, rest
  seconds, rest, owner, label = string.match(f[1] or '', '^(%x+)(%x%x%x%x%x) (%S+) (.*)$')
  number = owner and tonumber(seconds, 16) * 1000000 + tonumber(rest, 16) or 0
  ends = f[2] and f[2] + 0
  if ends then ends = ends < FAR and number + ends * 1000 or bucket_of(number) + (ends - FAR) * 1000 end
  held = ends and ends > now or false -- the end of the lease lies ahead
  permits = string.byte(K, -1) == 35 and tonumber(redis.call('HGET', K, 'n')) or nil -- '#'
  readers, beside, sign = nil, nil, nil
  if owner and string.byte(owner) < 45 then -- no attempt begins so
    make_readers()
    open_readers()
  end
  waiting, tombstones = tonumber(f[3]) or 0, f[4]
  foreign, keyed, theirs = false, number > 0 and tonumber(f[5]) == number, nil
  if R then
    local left = redis.call('PTTL', R)
    local ours = left ~= -2 and owner and redis.call('HEXISTS', R, OURS .. owner) == 1
    held = held and (ours or not keyed)
    if left ~= -2 and not ours then
      if not is_lock(R) then error('the key of that name is not a lock of Redisson') end
      foreign, held, readers, beside, sign = true, true, nil, nil, nil
      -- Without a time to live nothing is known of its end.
      owner, ends = '', now + (left < 0 and 3600000 or math.max(left, 1)) * 1000
    elseif ours and not held then
      redis.call('DEL', R)
    end
    -- No longer than it can have been set for, although the clock was set back.
    kept, hears = tonumber(f[6]) or 0, f[7]
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
  redis.call('HSET', R, OURS .. owner, 1)
  redis.call('PEXPIRE', R, lease_now)
end

-- A number in hexadecimal: its seconds, of eight digits from 1970 to 2106, and five of what is over. So it is short,
-- takes no time, and as many digits compare as text.
local function written(of)
  of = of or number
  return string.format('%08x%05x', math.floor(of / 1000000), of % 1000000)
end

-- What a client calls a hold: what the field o begins with.
local function hold()
  return owner and written() .. ' ' .. owner .. ' '
end

-- What the field o says. Who remembers for less than others says so by a zero more, since then the bucket says
-- nothing of the key's end.
local function owned()
  return (REMEMBERED < 3600 and '0' or '') .. hold() .. label
end

-- What the field g says of a lease (in ms) that begins now; not sooner than that, but for less than 1 ms later.
-- @param moment when it ends, where that is known already
local function until_when(lease, moment)
  ends, held, lease_now = moment or now + lease * 1000, true, lease
  local behind = math.ceil((ends - number) / 1000)
  return digits(behind < FAR and behind or math.ceil((ends - bucket_of(number)) / 1000) + FAR)
end

-- At least: where the key's end is moved it is for as long as nobody asks within this bucket of time, so that the
-- quick ways need not. They know the bucket by the number of the last grant; or by the end of the hold that stands,
-- less SHORT, since so far behind its bucket a grant of theirs may end. A number that lies ahead of the clock keeps
-- the key until the clock has come there, too.
function remember(lease)
  local least = now + math.max(lease / 1000, SHORT) * 1000000
  if REMEMBERED >= 3600 then
    local short = SHORT * 1000000
    least = bucket_of(math.max(now, number, now + lease * 1000 + 1000 - short)) + BUCKET + short
  end
  least = math.ceil((least - now) / 1000) + REMEMBERED * 1000
  if redis.call('PTTL', K) >= least then return end
  redis.call('PEXPIRE', K, digits(least + (REMEMBERED < 3600 and REMEMBERED * 1000 or 0)))
end

-- Makes an attempt the owner; lease in ms. The lock must be free. Or one of those who read.
local function grant(attempt, lease, its_label, plain, reader)
  if reader then
    make_readers()
    return join(attempt, lease, its_label)
  end
  number = math.max(number + 1, now)
  owner, label = attempt, its_label
  redis.call('HSET', K, 'o', owned(), 'g', until_when(lease))
  if readers then end_readers() end -- who have lapsed
  sign = nil
  remember(lease)
  if R and not plain then write_key() end
  if run then begins() end
end
