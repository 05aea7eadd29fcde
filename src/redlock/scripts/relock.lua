-- SPDX-License-Identifier: MIT
-- Gives a hold the vote of a server that has none for anybody: it was restarted empty, or could not
-- be reached for a lease. Only sent for a hold that a majority has just renewed.
--
-- ARGV  1 "<attempt> <number>"    2 'q'; '1' = older copies of the attempt may be on their way
--       3 step of the attempt    4 lease in ms
-- @return as acquire.lua
open(KEYS[1])
exhume()
local me, settled = string.match(ARGV[1], '^(%S+) (%d+)$')
local late = comes_late(me, ARGV[3])
if string.sub(ARGV[2], 2, 2) == '1' then refuse_what_is_older(me, ARGV[3]) end
if late then return 'R' end
if held and owner ~= me then return occupied('B') end
redis.call('HSET', K, 'o', ARGV[1], 'g', digits(now) .. ' ' .. ARGV[4], 's', ARGV[3], 'l', '')
if largest > tonumber(settled) then
  redis.call('HSET', K, 'm', digits(largest))
else
  redis.call('HDEL', K, 'm')
end
remember(tonumber(ARGV[4]))
return 'G ' .. settled
