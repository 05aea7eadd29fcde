-- SPDX-License-Identifier: MIT
-- Tells who holds a lock at this server (O), or that nobody does (E).
--
-- ARGV  3 "w": the name is nobody's, and who asks wants to know whether a vote could be written, as that of a single
--         server does (src/redis/scripts/inspect.lua)
open(KEYS[1])
if ARGV[3] == 'w' then
  redis.call('HSET', K, '-', '')
  redis.call('HDEL', K, '-')
end
return occupied(held and 'O' or 'E')
