-- SPDX-License-Identifier: MIT
-- One lock as one server of a quorum keeps it, and what the scripts do with it. Each script begins with
-- src/redis/scripts/prelude.lua and tombstones.lua, as those of a single server do, and then this and readers.lua
-- (who reads). There is no queue and no hand-over: a lock is held where a majority of the servers says so, which no
-- single one can know.
--
-- A lock is ONE hash. Beside the fields x and !..., of which those two tell:
--   o  "<attempt> <number>" of the owner, or of the last one; while it is read, or was last, a sign before it: see
--      readers.lua
--   g  "<since when> <lease in ms>": it is held; absent = it was freed
--   l  the owner's label                              e  in s: the key's end, less LIFE
--   s  the step of the attempt that took it: see comes_late()
--   m  the largest number that was given here, where it is larger than that in o
--   i  who waits, in the order in which they came: "<attempt> <last contact>;..."; behind that contact an r: it wants
--      to read; a t: it was told that it may go on, and has not asked since
--
-- KEYS  1 the lock (renew.lua: several)
-- ARGV  1 whose request it is    2 flags, one character each, of which the first is 'q'
local MOST = 64 -- of those who wait are remembered

local LIFE = 4600 -- s, the same for all: what the key's end is noted less, whoever wrote it

local step_of_vote, largest, interested, expires
local owns -- whether it is held by an owner; `held` says whether by anybody
local readers, sign, labelled -- see readers.lua, as what follows
local make_readers, open_readers, write_readers, forget_readers, find_reader, first_numbers, own_beside

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
  owns, readers, sign, labelled = held, nil, nil, nil
  largest = math.max(tonumber(f[3]) or 0, number)
  tombstones, interested, expires = f[4], f[5], tonumber(f[6]) or 0
  step_of_vote = tonumber(f[7]) or 0
  if owner and string.byte(owner) < 45 then -- no attempt begins so
    make_readers()
    open_readers()
  end
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
  local of_vote = attempt == owner and step_of_vote
  if readers and not of_vote then
    local its = find_reader(attempt)
    of_vote = its and its.step
  end
  return (of_vote and tonumber(step) < of_vote) or is_late(attempt, step)
end

-- From now on what was asked of this attempt before this step comes too late: also where this comes late
-- itself. Its client takes any answer for that, and the vote that it came too late for may be gone tomorrow.
-- A tombstone is never written back to an older step.
local function refuse_what_is_older(attempt, step)
  local mark = tombstones and redis.call('HGET', K, '!' .. attempt)
  refuse_older(attempt, digits(math.max(tonumber(step), tonumber(string.match(mark or '0', '^%d+')))))
end

-- Makes an attempt the owner; nobody holds the lock, or this one does. Lease in ms.
local function own(attempt, its_number, lease, step, label)
  if readers and owns then return own_beside(its_number, lease, step) end
  redis.call('HSET', K, 'o', attempt .. ' ' .. digits(its_number), 'g', digits(now) .. ' ' .. lease, 's', step,
    'l', label)
  if readers then forget_readers() end
  if its_number < largest then
    redis.call('HSET', K, 'm', digits(largest))
  elseif largest > number then
    redis.call('HDEL', K, 'm')
  end
  remember(tonumber(lease))
end

-- Goes through those who wait and live; whom the future has heard of, since the clock was set back, has to ask anew.
-- `visit` says whether one stays, and what else is noted of it: a mark, and when it was heard of.
local function sift(visit)
  local kept = {}
  for a, contact, reads, told in string.gmatch(interested or '', '(%S+) (%d+)(r?)(t?);') do
    if now - contact < SILENCE and now >= tonumber(contact) then
      local stays, mark, heard_of = visit(a, reads == 'r', told == 't')
      if stays then kept[#kept + 1] = a .. ' ' .. (heard_of or contact) .. reads .. (mark or told) .. ';' end
    end
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

-- Tells those who wait and may go on: the first, and with one that reads all that read up to the next who wants it
-- alone; where it is read, those of them that lead. Each keeps its place until it has the lock, but is told once
-- only until it asks again: it may have died. One that nobody listens for is forgotten: it asks by itself.
local function hint()
  if owns then return end
  local over, behind_a_writer, told_a_reader = false, false, false
  note_interested(sift(function(a, reads, told)
    if over then return true end
    if reads and behind_a_writer then return true end
    if not reads and (held or told_a_reader) then
      over = true
      return true
    end
    if told then
      behind_a_writer = behind_a_writer or not reads
      return true
    end
    local heard = redis.pcall('PUBLISH', inbox(a), 'L ' .. a .. ' ' .. K)
    if type(heard) ~= 'number' or heard == 0 then return false end
    over, told_a_reader = not reads, reads
    return true, 't'
  end))
end

-- The answer that tells who holds the lock; a label, of any bytes, comes last. Where it is read the numbers
-- of those who do are in front of it.
local function occupied(letter)
  local waiting, whose, its_label = 0, held and digits(number) or '0', 'l'
  sift(function() waiting = waiting + 1 end)
  local front = ''
  if held and readers then
    front, whose, its_label = first_numbers()
  end
  local label = held and redis.call('HGET', K, its_label) or ''
  return front .. letter .. ' ' .. digits(now) .. ' ' .. (held and digits(ends - now) or '0') .. ' 0 ' .. whose ..
    ' ' .. waiting .. ' ' .. label
end
