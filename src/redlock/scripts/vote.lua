-- SPDX-License-Identifier: MIT
-- One lock as one server of a quorum keeps it, and what the scripts do with it. Each script begins with
-- src/redis/scripts/prelude.lua and tombstones.lua, as those of a single server do, and then this. There is
-- no queue and no hand-over: a lock is held where a majority of the servers says so, which no single one can
-- know.
--
-- A lock is ONE hash. Beside the fields x and !..., of which those two tell:
--   o  "<attempt> <number>" of the owner, or of the last one
--   g  "<since when> <lease in ms>": it is held; absent = it was freed
--   l  the owner's label                              e  in s: the key's end, less LIFE
--   s  the step of the attempt that took it: see comes_late()
--   m  the largest number that was given here, where it is larger than that in o
--   i  who wants to hear that it may be free: "<attempt> <last contact>;..."
--
-- KEYS  1 the lock (renew.lua: several)
-- ARGV  1 whose request it is    2 flags, one character each, of which the first is 'q'
local MOST = 64 -- of the interested are remembered

local LIFE = 4600 -- s, the same for all: what the key's end is noted less, whoever wrote it

local step_of_vote, largest, interested, expires

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
  held = ends ~= nil and ends > now
  largest = math.max(tonumber(f[3]) or 0, number)
  tombstones, interested, expires = f[4], f[5], tonumber(f[6]) or 0
  step_of_vote = tonumber(f[7]) or 0
end

-- At least, or after a lease of SHORT; and seldom says so: the key is given REMEMBERED once more.
function remember(lease)
  local least = math.max(lease / 1000, SHORT) + REMEMBERED
  if expires + LIFE > now / 1000000 + least then return end
  expires = math.floor(now / 1000000 + least) + REMEMBERED - LIFE
  redis.call('HSET', K, 'e', digits(expires))
  redis.call('PEXPIRE', K, digits((least + REMEMBERED) * 1000))
end

function count() end -- the quick ways look at the field x themselves

-- What was asked of an attempt in an earlier step, and comes after what was asked in a later one. A
-- vote says itself in which step it was taken: a hold may rest on it for hours, and nothing that was
-- asked before may touch it, however late it comes. For what left no vote here a tombstone stays for a while.
local function comes_late(attempt, step)
  return (attempt == owner and tonumber(step) < step_of_vote) or is_late(attempt, step)
end

-- From now on what was asked of this attempt before this step comes too late: also where this comes late
-- itself. Its client takes any answer for that, and the vote that it came too late for may be gone tomorrow.
-- A tombstone is never written back to an older step.
local function refuse_what_is_older(attempt, step)
  local mark = tombstones and redis.call('HGET', K, '!' .. attempt)
  refuse_older(attempt, digits(math.max(tonumber(step), tonumber(string.match(mark or '0', '^%d+')))))
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
    local readers = redis.pcall('PUBLISH', inbox(a), 'L ' .. a .. ' ' .. K)
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
