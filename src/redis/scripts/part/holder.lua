-- SPDX-License-Identifier: MIT
-- Who holds a lock, for the answer to another client. Of several readers it is the one whose lease ends last.
--
-- Before: key, now, f, ends, owned, read, shared, hidden, foreign, kept.
-- After: left (us until the lease ends; 0 = free), number (of the hold; 0 = it has none, since it is Redisson's),
-- its_label, mode ('w' = an owner, 'r' = readers). They end an answer, after the word and `now`: left, '1' = the
-- attempt is the first of the queue, number, how many wait, its_label, mode, last (the largest number that was
-- granted). If an answer has no mode, the mode is 'w', and `last` is the number.
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
