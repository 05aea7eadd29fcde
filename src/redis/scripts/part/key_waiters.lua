-- SPDX-License-Identifier: MIT
-- Walks over the waiters of a key in order of arrival. A waiter that has not asked for 3 s leaves. If the key is free,
-- the waiters that its outcome answers get a message D and leave, and the next one to run the key gets a message L. A
-- waiter that got an L and does not ask for 1 s lets others pass. So does a waiter whose client is not connected.
--
-- A member of `queue` is a letter and the attempt. The letter is the wish of the waiter, if the key has an outcome: f =
-- run it after a failure, n = never, a = always. The hash `waiters` has for each attempt the time of its last question
-- (negative after a message L), a space and its label. One script looks at 8 waiters, and at 256 if the key is free.
-- A queue of another type, which other software has put there, counts as empty.
--
-- In a cluster the slot of a key may be on its way to another server, key by key. So the queue may be at that server.
-- The server that the slot leaves refuses commands about keys that it does not have. At the server that the slot comes
-- to (`arrives`) such keys are empty.
--
-- Before: key, now, clock, queue, waiters, held, outcome (Y, F or false), outcome_of: the number of that outcome, as
--   text, place (the caller's member), arrives.
-- After: first: the member that is to run the key next (while it is held, the first one that is alive); nil = none
--   apart: the queue may be at another server.
local line, attempts, gone, silent = redis.pcall('ZRANGE', queue, '0', held and '7' or '255'), {}, {}, {}
for i, each in ipairs(line) do attempts[i] = string.sub(each, 2) end
local places = line[1] and redis.pcall('HMGET', waiters, unpack(attempts)) or line
apart = places.err and string.find(places.err, 'non local key', 1, true)
apart = apart or (arrives and (not line[1] or redis.call('PTTL', waiters) == -2))
if places.err or apart then line = {} end
for i, each in ipairs(line) do
  local letter, attempt = string.sub(each, 1, 1), attempts[i]
  local contact = tonumber(string.match(places[i] or '0', '^%-?%d+'))
  local silence = now - math.abs(contact) -- less than 0 after the clock was set back
  local inbox = string.match(key, '^[^{]*') .. 'inbox:' .. string.sub(attempt, 1, 16)
  local answered = not held and outcome and (letter == 'n' or (letter == 'f' and outcome == 'Y'))
  if each == place then
    first = first or each
  elseif answered or silence > 3000000 then
    if answered then redis.pcall('PUBLISH', inbox, 'D ' .. attempt .. ' ' .. outcome_of .. ' ' .. key) end
    gone[#gone + 1], silent[#silent + 1] = each, attempt
  elseif held then
    first = first or each
  elseif not first and contact < 0 then
    if silence >= 0 and silence < 1000000 then first = each end
  elseif not first then
    local listeners = redis.pcall('PUBLISH', inbox, 'L ' .. attempt .. ' ' .. key)
    if type(listeners) == 'number' and listeners > 0 then
      -- Redis never refuses a HDEL, and accepts each write after it even without memory. No field is named `-`.
      redis.call('HDEL', key, '-')
      redis.call('HSET', waiters, attempt, '-' .. clock .. string.match(places[i], ' .*$'))
      first = each
    end
  end
end
if gone[1] then
  redis.call('ZREM', queue, unpack(gone))
  redis.call('HDEL', waiters, unpack(silent))
end
if not line[1] and not apart then redis.call('HDEL', key, 'crowd') end
