-- SPDX-License-Identifier: MIT
-- Makes an attempt the owner. If the attempt itself asks, the key lives for `ttl` ms. If another client's request gives
-- it the lock, that request only prolongs the life of the key: if the new lease ends after the last one, or if the
-- number is ahead of the clock.
--
-- LEASE counts from GRANT. If the number is ahead of the clock, LEASE is smaller by that. The lease still ends at the
-- same moment.
--
-- Before: call, key, now, ttl; attempt, new_lease (in ms), new_label; all of number.lua; lease_ends: when the last
-- lease ended; asks: the attempt itself asks.
call('HSET', key, OWNER, attempt, LEASE, ahead == 0 and new_lease or string.format('%.0f', new_lease - ahead), GRANT,
  new_grant, LABEL, new_label)
local new_ttl = ahead == 0 and ttl or string.format('%.0f', ttl + ahead)
if asks or ((ahead > 0 or now + new_lease * 1000 > lease_ends) and call('PTTL', key) < new_ttl + 0) then
  call('PEXPIRE', key, new_ttl)
end
