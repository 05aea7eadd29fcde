-- SPDX-License-Identifier: MIT
-- Tells who holds a lock (O), or that it is free (E).
--
-- ARGV  3 the number of a hold: where it is one of those who read, and of an owner beside them, of that one is told;
--         or "w": the name is nobody's, and who asks wants to know whether a lock could be written. What keeps the
--         server from that (too few replicas, no memory, a full disk) is answered in its own words.
open(KEYS[1], KEYS[2])
settle()
if ARGV[3] == 'w' then
  redis.call('HSET', K, '-', '')
  redis.call('HDEL', K, '-')
end
local of_one = ARGV[3] and readers and held and told_of(tonumber(ARGV[3]))
return of_one or occupied(held and 'O' or 'E')
