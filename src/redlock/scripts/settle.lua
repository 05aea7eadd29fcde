-- SPDX-License-Identifier: MIT
-- Gives a hold the number that its client has found to be the largest of a majority. What this
-- server gave before stays the least that a later one gets; where that is more, it voted after the
-- client had decided, somebody else may have been granted as much in between, and this server is no
-- witness for the number. Safe to repeat.
--
-- ARGV  1 attempt    2 'q'    3 number
-- @return "G <number>", H: it gave more, or N: not this attempt's hold
open(KEYS[1])
if not held or owner ~= ARGV[1] then return 'N' end
local settled = tonumber(ARGV[3])
if settled ~= number then
  redis.call('HDEL', K, '-') -- changes nothing, but what comes after it is not refused
  redis.call('HSET', K, 'o', owner .. ' ' .. digits(settled))
  if largest > settled then
    redis.call('HSET', K, 'm', digits(largest))
  else
    redis.call('HDEL', K, 'm')
  end
end
return largest > settled and 'H' or 'G ' .. digits(settled)
