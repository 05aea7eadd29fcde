-- SPDX-License-Identifier: MIT
-- Sends a waiter the message G: it has the lock. The attempt that asks itself gets a reply instead.
--
-- A message begins with its kind and the attempt: G = it got the lock, L = it should ask again, D = the key that it
-- waits for has an outcome, T = an administrator ended its hold, S = the same of a reader's hold.
--
-- The inbox of a client is a channel: the prefix of the key, `inbox:`, and the first 16 characters of its attempts. For
-- a cluster the library replaces two words of the script: then it is one sharded channel per client and name.
--
-- Before: key, clock, attempt, new_grant, new_lease; asks: the attempt itself asks.
-- After: receivers: how many connections subscribe to its inbox (1 for the attempt that asks), or an error.
local receivers = asks and 1 or redis.pcall('PUBLISH',
  string.match(key, '^[^{]*') .. 'inbox:' .. string.sub(attempt, 1, 16),
  'G ' .. attempt .. ' ' .. new_grant .. ' ' .. clock .. ' ' .. new_lease .. ' ' .. key)
