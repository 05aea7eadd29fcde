-- SPDX-License-Identifier: MIT
-- What every script begins with, whether it is about the lock of one server (lock.lua goes on) or about one
-- server's vote in a quorum (src/redlock/scripts/vote.lua does). A lock is ONE hash, and these of its fields
-- mean the same in both:
--   o  "<attempt> <grant number>" of the owner, or of the last one
--   g  "<since when> <lease in ms>": it is held; absent = it was freed
--   l  the owner's label                              e  in s: the key's end, less LIFE
--   x, !...  of which attempts a late duplicate is refused: see tombstones.lua
-- Times are the server's, in microseconds unless said. The key outlives the lease by REMEMBERED at least: as
-- long as it is there, numbers grow although the server's clock steps back. Without it they grow by the
-- clock.
--
-- Everything is read before anything is written, so that a key of another type is left alone; the
-- first write of each script either may be refused as a whole (HSET: out of memory) or never is
-- (HDEL, PEXPIRE), and once one has passed, Redis refuses no other of that script.
--
-- ARGV  2 flags, one character each, of which the first is the mode; then ".<REMEMBERED>", where that is not
--       3600. Few arguments, since each costs the server time.
local REMEMBERED = tonumber(string.match(ARGV[2] or '', '%.(%d+)$')) or 3600 -- s that a lock is remembered after
-- its lease, up to twice that
local SHORT = math.min(1000, REMEMBERED) -- s, of most leases
local LIFE = 4600 -- s, the same for all: what the key's end is noted less, whoever wrote it
local SILENCE = 3000000 -- us without a word from a waiter, which asks each second: it counts as dead
local TOMBSTONE_LIFE = 60000000 -- us that a duplicate may be late

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

local K -- the key
local owner, number, since, lease_now, ends, held, tombstones, expires
local count -- a function: to be called when the first tombstone is written, or the last one goes

local function digits(x)
  return string.format('%.0f', x)
end

-- What the fields o and g say. Held means: the end of the lease lies ahead.
local function read_hold(o, g)
  owner, number, since, lease_now, ends = nil, 0, nil, nil, nil
  if o then
    owner, number = string.match(o, '^(%S+) (%d+)$')
    number = tonumber(number)
  end
  if g then
    since, lease_now = string.match(g, '^(%d+) (%d+)$')
    since = tonumber(since)
    ends = since + lease_now * 1000
  end
  held = ends ~= nil and ends > now
end

-- Has the key live until REMEMBERED after this lease (in ms) at least, or after one of SHORT, and
-- seldom says so: it is given REMEMBERED once more. Clients with another REMEMBERED, or an older
-- version, read the same end of the key: less LIFE it is what they took it for.
local function remember(lease)
  local least = math.max(lease / 1000, SHORT) + REMEMBERED
  if expires + LIFE > now / 1000000 + least then return end
  expires = math.floor(now / 1000000 + least) + REMEMBERED - LIFE
  redis.call('HSET', K, 'e', digits(expires))
  redis.call('PEXPIRE', K, digits((least + REMEMBERED) * 1000))
end

-- Changes nothing, but what the script writes from now on is not refused for the lack of memory.
local function keep_what_is_there()
  redis.call('HDEL', K, '-')
end

-- The channel of a client: beside its locks, whose keys begin with the prefix, too.
local function inbox(attempt)
  return string.match(K, '^[^{]*') .. 'inbox:' .. string.sub(attempt, 1, 32)
end
