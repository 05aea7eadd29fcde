-- SPDX-License-Identifier: MIT
-- Who holds a lock, for the answer to another client. Of several readers it is the one whose lease ends last.
--
-- Before: key, now, grant, owner_label, lease_ends, is_owned, reader_count, readers_end, readers_elsewhere,
-- redisson_owner, is_reserved.
-- After: left (us until the lease ends; 0 = free), held_grant (the number of the hold; 0 = free, or a hold of Redisson,
-- which has none), held_label ('redisson' with left 0 = free, and reserved for Redisson), held_mode ('w' = an owner,
-- 'r' = readers).
-- Seven items end an answer, after its word and `now`: left; 1 = the attempt leads the queue, or its client asks again
-- at once, else 0; held_grant; how many wait; held_label; held_mode; max_grant. The answer about an owner may end after
-- held_label: then the mode is 'w', and `max_grant` is held_grant.
local left, held_mode, held_grant, held_label = 0, 'w', 0, ''
if redisson_owner then
  left, held_label = lease_ends - now, 'redisson'
elseif is_owned then
  left, held_grant, held_label = lease_ends - now, tonumber(grant), owner_label or ''
elseif reader_count > 0 then
  left, held_mode, held_grant = readers_end - now, 'r', tonumber(grant or 0)
  local latest = not readers_elsewhere and redis.pcall('ZRANGE', readers, '-1', '-1', 'WITHSCORES') or {}
  local info = latest[1] and redis.pcall('HMGET', reader_info, latest[1], latest[1] .. ':label') or {}
  if info[1] then left, held_grant, held_label = latest[2] - now, tonumber(info[1]), info[2] or '' end
elseif is_reserved then
  held_label = 'redisson'
end
