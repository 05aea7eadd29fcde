-- SPDX-License-Identifier: MIT
-- Walks over the waiters of a key in order of arrival. A waiter that has not asked for 3 s leaves. If the key is free,
-- the waiters that its outcome answers get a message D and leave, and the next one to run the key gets a message L. A
-- waiter that got an L and does not ask for 1 s lets others pass. So does a waiter whose client is not connected.
--
-- A member of `queue` is a letter and the attempt. The letter is the wish of the waiter, if the key has an outcome: f =
-- run it after a failure, n = never, a = always. The hash `waiters` has for each attempt the time of its last request,
-- a space and its label. A minus before that time means: the time at which this script sent the attempt a message L.
-- One script looks at 8 waiters, and at 256 if the key is free. A queue of another type, which other software has put
-- there, counts as empty.
--
-- In a cluster the slot of a key may be on its way to another server, key by key. So the queue may be at that server.
-- The server that the slot leaves refuses commands about keys that it does not have. At the server that the slot comes
-- to (`importing`) such keys are empty.
--
-- Before: call, key, now, clock, queue, waiters, held, outcome (Y, F or false), outcome_grant: the number of that
--   outcome, as text, my_member (of the attempt that asks; '' = none), importing.
-- After: first: the member that is to run the key next (while it is held, the first one that is alive); nil = none
--   queue_elsewhere: the queue may be at another server.
local line, attempts, removed, removed_attempts = redis.pcall('ZRANGE', queue, '0', held and '7' or '255'), {}, {}, {}
for i, member in ipairs(line) do attempts[i] = string.sub(member, 2) end
local stored = line[1] and redis.pcall('HMGET', waiters, unpack(attempts)) or line
queue_elsewhere = stored.err and string.find(stored.err, 'non local key', 1, true)
queue_elsewhere = queue_elsewhere or (importing and (not line[1] or call('PTTL', waiters) == -2))
if stored.err or queue_elsewhere then line = {} end
for i, member in ipairs(line) do
  local wish_of_it, attempt = string.sub(member, 1, 1), attempts[i]
  local contact = tonumber(string.match(stored[i] or '0', '^%-?%d+'))
  local silence = now - math.abs(contact) -- less than 0 after the clock was set back
  local inbox = string.match(key, '^[^{]*') .. 'inbox:' .. string.sub(attempt, 1, 16)
  local answered = not held and outcome and (wish_of_it == 'n' or (wish_of_it == 'f' and outcome == 'Y'))
  if member == my_member then
    first = first or member
  elseif answered or silence > 3000000 then
    if answered then redis.pcall('PUBLISH', inbox, 'D ' .. attempt .. ' ' .. outcome_grant .. ' ' .. key) end
    removed[#removed + 1], removed_attempts[#removed_attempts + 1] = member, attempt
  elseif held then
    first = first or member
  elseif not first and contact < 0 then
    if silence >= 0 and silence < 1000000 then first = member end
  elseif not first then
    local receivers = redis.pcall('PUBLISH', inbox, 'L ' .. attempt .. ' ' .. key)
    if type(receivers) == 'number' and receivers > 0 then
      -- Redis never refuses a HDEL, and accepts each write after it even without memory. No field is named `-`.
      call('HDEL', key, '-')
      call('HSET', waiters, attempt, '-' .. clock .. string.match(stored[i], ' .*$'))
      first = member
    end
  end
end
if removed[1] then
  call('ZREM', queue, unpack(removed))
  call('HDEL', waiters, unpack(removed_attempts))
end
if not line[1] and not queue_elsewhere then call('HDEL', key, 'has_waiters') end
