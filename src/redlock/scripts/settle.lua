-- SPDX-License-Identifier: MIT
-- Gives a hold the number that its client has found to be the largest of a majority. What this
-- server gave before stays the least that a later one gets; where that is more, it voted after the
-- client had decided, somebody else may have been granted as much in between, and this server is no
-- witness for the number. (Of a reader it is one all the same: who has got more here reads as well, or came before
-- this vote.) Safe to repeat. A copy that comes late, after what was asked in a later
-- step, changes nothing: it would give the vote of a later round the number of an earlier one.
--
-- ARGV  1 attempt    2 'q'    3 step of the attempt    4 number
-- @return "G <number>", H: it gave more, or N: not this attempt's hold
open(KEYS[1])
local settled = tonumber(ARGV[4])
if comes_late(ARGV[1], ARGV[3]) then return 'N' end
if readers and settle_reader(ARGV[1], settled) then return 'G ' .. digits(settled) end
if not owns or owner ~= ARGV[1] then return 'N' end
if settled ~= number then
  keep_what_is_there()
  if readers then
    number, largest = settled, math.max(largest, settled)
    write_readers()
  else
    redis.call('HSET', K, 'o', owner .. ' ' .. digits(settled))
    if largest > settled then
      redis.call('HSET', K, 'm', digits(largest))
    else
      redis.call('HDEL', K, 'm')
    end
  end
end
return largest > settled and 'H' or 'G ' .. digits(settled)
