-- SPDX-License-Identifier: MIT
-- Makes an attempt the owner. If the attempt itself asks, the key lives for `life` ms. If another client's request
-- gives it the lock, that request only prolongs the life of the key: if the new lease ends after the last one, or if
-- the number is ahead of the clock.
--
-- The field `ms` counts from the number. If the number is ahead of the clock, `ms` is smaller by that. The lease still
-- ends at the same moment.
--
-- Before: key, now, life; attempt, its_lease (in ms), its_label; all of number.lua; ends: end of the last lease; asks:
-- the attempt itself asks.
redis.call('HSET', key, 'owner', attempt, 'ms', ahead == 0 and its_lease or string.format('%.0f', its_lease - ahead),
  'number', its_number, 'label', its_label)
local lives = ahead == 0 and life or string.format('%.0f', life + ahead)
if asks or ((ahead > 0 or now + its_lease * 1000 > ends) and redis.call('PTTL', key) < lives + 0) then
  redis.call('PEXPIRE', key, lives)
end
