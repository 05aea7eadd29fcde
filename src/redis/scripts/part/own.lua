-- SPDX-License-Identifier: MIT
-- Makes an attempt the owner. The request of that attempt sets how long the key lives. That of another client only
-- prolongs its life, if the new lease ends after the last one.
--
-- Before: key, now, life (in ms); attempt, its_lease (in ms), its_label; all of number.lua; ends: of the last lease;
-- asks: this is the request of that attempt.
-- The lease counts from the number. So it is written shorter if the number is ahead of the clock.
redis.call('HSET', key, 'owner', attempt, 'ms', ahead == 0 and its_lease or string.format('%.0f', its_lease - ahead),
  'number', its_number, 'label', its_label)
local lives = ahead == 0 and life or string.format('%.0f', life + ahead)
if asks or ((ahead > 0 or now + its_lease * 1000 > ends) and redis.call('PTTL', key) < lives + 0) then
  redis.call('PEXPIRE', key, lives)
end
