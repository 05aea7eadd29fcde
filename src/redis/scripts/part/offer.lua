-- SPDX-License-Identifier: MIT
-- Sends a waiter the message that it has the lock. An attempt whose request this is gets a reply instead.
--
-- Before: key, clock, attempt, its_number, its_lease; asks: this is the request of that attempt.
-- After: `heard`: how many clients listen to its inbox, or an error.
local heard = asks and 1 or redis.pcall('PUBLISH',
  string.match(key, '^[^{]*') .. 'inbox:' .. string.sub(attempt, 1, 16),
  'G ' .. attempt .. ' ' .. its_number .. ' ' .. clock .. ' ' .. its_lease .. ' ' .. key)
