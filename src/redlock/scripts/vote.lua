-- SPDX-License-Identifier: MIT
-- One lock as one server of a quorum keeps it, and what the scripts do with it. This text is put in
-- front of each of them. There is no queue and no hand-over: a lock is held where a majority of the
-- servers says so, which no single one can know.
--
-- A lock is ONE hash, with the fields of src/redis/scripts/lock.lua where they mean the same:
--   o  "<attempt> <number>" of the owner, or of the last one
--   g  "<since when> <lease in ms>": it is held; absent = it was freed
--   l  the owner's label                              e  in s: until then the key lives long enough
--   s  the step of the attempt that took it: see is_late()
--   m  the largest number that was given here, where it is larger than that in o
--   i  who wants to hear that it may be free: "<attempt> <last contact>;..."
--   x  of which attempts a late duplicate is refused for a while, with fields !...: as in
--      src/redis/scripts/lock.lua, but by the steps of the attempt: a client reaches this server by
--      several addresses, perhaps, and counts the connections of each by itself
-- Times are this server's, in microseconds unless said. The key outlives the lease by an hour at
-- least: as long as it is there, numbers grow although the server's clock steps back.
--
-- Everything is read before anything is written, so that a key of another type is left alone; the
-- first write of each script either may be refused as a whole (HSET: out of memory) or never is
-- (HDEL), and once one has passed, Redis refuses no other of that script.
--
-- KEYS  1 the lock (renew.lua: several)
-- ARGV  1 whose request it is    2 flags, one character each, of which the first is 'q'
local REMEMBERED = 3600 -- s that a lock is remembered after its lease, up to twice that
local SHORT = 1000 -- s, of most leases
local SILENCE = 3000000 -- us without a word from a waiter, which asks each second: it counts as dead
local MOST = 64 -- of the interested are remembered
local TOMBSTONE_LIFE = 60000000 -- us that a duplicate may be late

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

local K, owner, step_of_vote, number, largest, ends, expires, tombstones, interested, held

local function digits(x)
  return string.format('%.0f', x)
end

local function open(key)
  K = key
  local f = redis.call('HMGET', K, 'o', 'g', 'm', 'x', 'i', 'e', 's')
  owner, number, ends = nil, 0, nil
  if f[1] then
    owner, number = string.match(f[1], '^(%S+) (%d+)$')
    number = tonumber(number)
  end
  if f[2] then
    local since, lease = string.match(f[2], '^(%d+) (%d+)$')
    ends = since + lease * 1000
  end
  largest = math.max(tonumber(f[3]) or 0, number)
  tombstones, interested, expires = f[4], f[5], tonumber(f[6]) or 0
  step_of_vote = tonumber(f[7]) or 0
  held = ends ~= nil and ends > now
end

-- Has the key live until REMEMBERED after this lease (in ms) at least, and seldom says so.
local function remember(lease)
  local more = math.max(lease / 1000 - SHORT, 0)
  if expires > now / 1000000 + more then return end
  expires = math.floor(now / 1000000 + more) + REMEMBERED
  redis.call('HSET', K, 'e', digits(expires))
  redis.call('PEXPIRE', K, digits((more + SHORT + 2 * REMEMBERED) * 1000))
end

-- Tombstones that are old enough are forgotten, a few at a time.
local function exhume()
  if not tombstones then return end
  local first, last = string.match(tombstones, '^(%d+) (%d+)$')
  local at, after = tonumber(first) or 0, tonumber(last) or 0
  local stop = math.min(after, at + 8)
  while at < stop do
    local entry = redis.call('HGET', K, '!' .. digits(at))
    local attempt, till = string.match(entry or '', '^(%S+) (%d+)$')
    if attempt and tonumber(till) > now then break end
    redis.call('HDEL', K, '!' .. digits(at))
    at = at + 1
    local mark = attempt and redis.call('HGET', K, '!' .. attempt)
    local its = mark and string.match(mark, ' (%d+)$')
    if its and tonumber(its) > now then
      -- Written once more since: it goes to the end, and has one place however often that was.
      redis.call('HSET', K, '!' .. digits(after), attempt .. ' ' .. its)
      after = after + 1
    elseif its then
      redis.call('HDEL', K, '!' .. attempt)
    end
  end
  if at >= after then
    tombstones = nil
    redis.call('HDEL', K, 'x')
  elseif digits(at) ~= first then
    tombstones = digits(at) .. ' ' .. digits(after)
    redis.call('HSET', K, 'x', tombstones)
  end
end

-- What was asked of an attempt in an earlier step, and comes after what was asked in a later one. A
-- vote says itself in which step it was taken: a hold may rest on it for hours, and nothing that was
-- asked before may touch it, however late it comes. For what left no vote here a tombstone stays for a while.
local function is_late(attempt, step)
  if attempt == owner and tonumber(step) < step_of_vote then return true end
  local mark = tombstones and redis.call('HGET', K, '!' .. attempt)
  return mark and tonumber(step) < tonumber(string.match(mark, '^%d+'))
end

-- From now on what was asked of this attempt before this step comes too late.
local function refuse_older(attempt, step)
  exhume()
  local till = digits(now + TOMBSTONE_LIFE)
  local new = redis.call('HSET', K, '!' .. attempt, step .. ' ' .. till) == 1
  if new or not tombstones then
    local first, after = string.match(tombstones or '0 0', '^(%d+) (%d+)$')
    tombstones = first .. ' ' .. digits(after + 1)
    redis.call('HSET', K, 'x', tombstones, '!' .. after, attempt .. ' ' .. till)
  end
  remember(0)
end

-- Goes through those who are interested and live. `visit` says whether one stays.
local function sift(visit)
  local kept = {}
  for a, contact in string.gmatch(interested or '', '(%S+) (%d+);') do
    if now - contact < SILENCE and visit(a) then kept[#kept + 1] = a .. ' ' .. contact .. ';' end
  end
  return kept
end

local function note_interested(kept)
  local text = table.concat(kept)
  if text == (interested or '') then return end
  redis.call('HDEL', K, 'i') -- never refused
  interested = nil
  if text ~= '' then
    redis.call('HSET', K, 'i', text)
    interested = text
  end
end

local function forget(attempt)
  note_interested(sift(function(a) return a ~= attempt end))
end

-- Tells the first waiter that the lock may be free. One that nobody listens for is
-- forgotten: it asks by itself.
local function hint()
  local told = false
  note_interested(sift(function(a)
    if told then return true end
    local channel = string.match(K, '^[^{]*') .. 'inbox:' .. string.sub(a, 1, 32)
    local readers = redis.pcall('PUBLISH', channel, 'L ' .. a .. ' ' .. K)
    told = type(readers) == 'number' and readers > 0
    return false
  end))
end

-- The answer that tells who holds the lock; a label, of any bytes, comes last.
local function occupied(letter)
  local waiting = 0
  sift(function() waiting = waiting + 1 end)
  local label = held and redis.call('HGET', K, 'l') or ''
  return letter .. ' ' .. digits(now) .. ' ' .. (held and digits(ends - now) or '0') .. ' 0 ' ..
    (held and digits(number) or '0') .. ' ' .. waiting .. ' ' .. label
end
