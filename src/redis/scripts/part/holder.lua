-- SPDX-License-Identifier: MIT
-- Who holds a lock, for the answer to another client. Of several readers it is the one whose lease ends last.
--
-- Before: key, now, f, ends, owned, read, shared, hidden, foreign, kept.
-- After: left (us until the lease ends; 0 = free), number (of the hold; 0 = a hold of Redisson, which has none),
-- its_label, mode ('w' = an owner, 'r' = readers).
-- Seven items end an answer, after its word and `now`: left; '1' = the attempt leads the queue, or its client asks
-- again at once; number; how many wait; its_label; mode; last (the largest number that was granted). The answer about
-- an owner may end after its_label: then the mode is 'w', and `last` is the number.
local left, mode, number, its_label = 0, 'w', 0, ''
if foreign then
  left, its_label = ends - now, 'redisson'
elseif owned then
  left, number, its_label = ends - now, tonumber(f[3]), f[5] or ''
elseif read > 0 then
  left, mode, number = shared - now, 'r', tonumber(f[3] or 0)
  local latest = not hidden and redis.pcall('ZRANGE', readers, '-1', '-1', 'WITHSCORES') or {}
  local its = latest[1] and redis.pcall('HMGET', notes, latest[1], latest[1] .. ':label') or {}
  if its[1] then left, number, its_label = latest[2] - now, tonumber(its[1]), its[2] or '' end
elseif kept then
  its_label = 'redisson'
end
