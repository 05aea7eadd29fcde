-- SPDX-License-Identifier: MIT
-- What a key of Once remembers, beside all that a lock is: a part that the scripts of keys have, and those of
-- locks do not. A key is ONE hash as a lock is, under a Redis key that no lock can have ("prefix{name}!"). Of
-- the fields of a lock (lock.lua) it never has those that are about Redisson, and of these two:
--   o  "<hold><asked>" of whoever began its last run; asked: "<repeat><keep in ms> <length> <fingerprint><label>",
--      as it stands in the queue, too; repeat: f after a failure, n never, a always
--   k  "<run> <until when>": the number of the last run; after that time, in ms, the key is absent, unless it is held
--   s  "<Y|F> <run> <hold>": the last conclusion, Y succeeded or F failed, and the hold that wrote it; the hold is
--      left out as long as it is the one in o. Then the key stands at it; with a hold it is pending again
--   v  the result, or the reason, of that conclusion: any bytes
-- What Redis has not removed yet counts as absent by its time, so nothing has to be swept.
local TOLD = 256 -- waiters that one script tells of a conclusion

local state -- A absent, P pending, Y succeeded, F failed
local fingerprint -- of whoever began the last run
local said, last_hold -- the field s; what hold() said before this script

-- @return the repeat, keep in ms, the fingerprint and the label of what was asked; none = that is not one
local function parse_asked(asked)
  local repeats, keep, length, at = string.match(asked or '', '^(%l)(%d+) (%d+) ()')
  if not at then return nil end
  return repeats, tonumber(keep), string.sub(asked, at, at + length - 1), string.sub(asked, at + length)
end

function shown(asked)
  local _, _, _, its = parse_asked(asked)
  return its or ''
end

-- @return letter and run of the last conclusion, and the hold that wrote it
local function last_said()
  local letter, its_run, whose = string.match(said or '', '^(%u) (%d+) (.*)$')
  return letter, its_run, whose == '' and last_hold or whose
end

-- Reads one key, in the place of what reads a lock.
local open_lock = open
local function open(key)
  open_lock(key)
  local f = redis.call('HMGET', K, 'k', 's')
  local last, till = string.match(f[1] or '', '^(%d+) (%d+)$')
  local _, _, its = parse_asked(label)
  said, last_hold = f[2], hold()
  if last and its and (held or till * 1000 > now) then
    local letter, _, whose = last_said()
    state, run, fingerprint = whose == last_hold and letter or 'P', tonumber(last), its
  else
    state, run, fingerprint = 'A', 0, ''
  end
end

-- What the field k says of a key that is remembered for that time (in ms) from now on, and has the key live so long.
local function until_when_kept(keep)
  return digits(run) .. ' ' .. digits(math.floor(now / 1000) + keep)
end

local function live(keep)
  if redis.call('PTTL', K) < keep then redis.call('PEXPIRE', K, digits(keep)) end
end

-- The last grant begins a run.
function begins()
  if state == 'A' then
    redis.call('HDEL', K, 's', 'v')
  elseif state ~= 'P' then
    said = said .. last_hold
    redis.call('HSET', K, 's', said)
  end
  local _, keep, its = parse_asked(label)
  state, run, fingerprint = 'P', run + 1, its
  redis.call('HSET', K, 'k', until_when_kept(keep))
  live(keep)
end

-- As core/verdict.cpp says it, of a key that nobody holds; while somebody does, "run" is to wait.
local function verdict(asked)
  if state == 'A' then return 'run' end
  local repeats, _, its = parse_asked(asked)
  if its ~= fingerprint then return 'mismatch' end
  local told = (state == 'Y' and repeats ~= 'a') or (state == 'F' and repeats == 'n')
  return told and 'replay' or 'run'
end

-- Whether a waiter is not to run the key any more. It is told to ask, and of which conclusion: by the time it
-- comes somebody else may have begun the next run.
function answers(w)
  local its = verdict(w.label)
  if its == 'run' then return false end
  local words = its == 'replay' and 'D ' .. w.attempt .. ' ' .. digits(number) or 'L ' .. w.attempt
  redis.pcall('PUBLISH', inbox(w.attempt), words .. ' ' .. K)
  return true
end

-- Tells all who wait that the key's conclusion answers, but for `me`: also those behind somebody who is to run it.
-- Those whom one script does not reach are told by the next one of whoever comes by.
local function tell_answered(me)
  if waiting <= 0 or state == 'A' or state == 'P' then return end
  local q = redis.call('HMGET', K, 'h', 't')
  local head, tail = tonumber(q[1]) or 0, tonumber(q[2]) or 0
  local first, at, told = nil, head, 0
  local read, from = {}, head
  keep_what_is_there()
  while at < tail and at < head + PLACES and told < TOLD do
    if at - from >= #read then
      read, from = places(at, math.min(64, tail - at)), at
    end
    local w = parse(read[at - from + 1], at)
    if w and w.attempt ~= me and answers(w) then
      dequeue(w.attempt, at)
      told = told + 1
    elseif w then
      first = first or at
    end
    at = at + 1
  end
  redis.call('HSET', K, 'h', digits(first or at))
  count()
end

-- The answer that tells what is remembered. One string: bytes that may be anything come last.
local function recorded(letter, its_run, its_number, is_held, print, bytes)
  return 'D ' .. digits(now) .. ' ' .. letter .. ' ' .. its_run .. ' ' .. its_number .. (is_held and ' 1 ' or ' 0 ') ..
    #print .. ' ' .. print .. bytes
end

-- @return the answer to who waited when the grant with that number ended with a conclusion: as it was then, also where
-- somebody else runs the key by now; nil = that one does not stand any more, or does not answer what is asked
local function told(its_number, asked)
  local letter, its_run, whose = last_said()
  local seconds, rest = string.match(whose or '', '^(%x+)(%x%x%x%x%x) ')
  if not seconds or digits(tonumber(seconds, 16) * 1000000 + tonumber(rest, 16)) ~= its_number then return nil end
  local repeats, _, print = parse_asked(asked)
  if repeats ~= 'n' and (repeats ~= 'f' or letter ~= 'Y') then return nil end
  return recorded(letter, its_run, its_number, false, print, redis.call('HGET', K, 'v') or '')
end

-- @param whole with the result or the reason, where there is one
local function record(whole)
  if state == 'A' then return recorded('A', '0', '0', held, '', '') end
  local bytes = whole and state ~= 'P' and redis.call('HGET', K, 'v')
  return recorded(state, digits(run), digits(number), held, fingerprint, bytes or '')
end
