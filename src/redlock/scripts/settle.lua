-- SPDX-License-Identifier: MIT
-- Gives a hold the number that its client has found to be the largest of a majority. What this
-- server gave before stays the least that a later one gets; where that is more, it voted after the
-- client had decided, somebody else may have been granted as much in between, and this server is no
-- witness for the number. Safe to repeat. A copy that comes late, after what was asked in a later
-- step, changes nothing: it would give the vote of a later round the number of an earlier one.
--
-- ARGV  1 attempt    2 'q'    3 step of the attempt    4 number
-- @return "G <number>", H: it gave more, or N: not this attempt's hold
open(KEYS[1])
if not held or owner ~= ARGV[1] or comes_late(ARGV[1], ARGV[3]) then return 'N' end
local settled = tonumber(ARGV[4])
if settled ~= number then
  keep_what_is_there()
  redis.call('HSET', K, 'o', owner .. ' ' .. digits(settled))
  if largest > settled then
    redis.call('HSET', K, 'm', digits(largest))
  else
    redis.call('HDEL', K, 'm')
  end
end
return largest > settled and 'H' or 'G ' .. digits(settled)
