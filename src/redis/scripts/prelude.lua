-- SPDX-License-Identifier: MIT
-- The beginning of every script; lock.lua follows. A lock is ONE hash. Its fields x and !... list the attempts of which
-- the server refuses late duplicates: see tombstones.lua.
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
local SILENCE = 3000000 -- us without a word from a waiter, which asks each second: it counts as dead
local TOMBSTONE_LIFE = 60000000 -- us that a duplicate may be late

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

local K -- the key
local owner, number, ends, held, tombstones
local count -- a function: to be called when the first tombstone is written, or the last one goes
local remember -- a function: has the key live until REMEMBERED after a lease (in ms) that begins now

local function digits(x)
  return string.format('%.0f', x)
end

-- Changes nothing, but what the script writes from now on is not refused for the lack of memory.
local function keep_what_is_there()
  redis.call('HDEL', K, '-')
end

-- The channel of a client: beside its locks, whose keys begin with the prefix, too. In a cluster a client has one for
-- each name: see cmake/RedisScripts.cmake.
local function inbox(attempt)
  return string.match(K, '^[^{]*') .. 'inbox:' .. string.sub(attempt, 1, 16)
end
