-- SPDX-License-Identifier: MIT
-- Gives a hold the vote of a server that has none for anybody who excludes it: it was restarted empty, or could not
-- be reached for a lease. Only sent for a hold that a majority has just renewed; so nobody who waits is overtaken.
--
-- ARGV  1 "<attempt> <number>"    2 'q'; '1' = older copies of the attempt may be on their way; of a
--       reader 's', or with copies 'S'
--       3 step of the attempt    4 lease in ms
-- @return as acquire.lua
open(KEYS[1])
exhume()
local me, settled = string.match(ARGV[1], '^(%S+) (%d+)$')
local copies = string.sub(ARGV[2], 2, 2)
local reads = copies == 's' or copies == 'S'
local late = comes_late(me, ARGV[3])
if copies == '1' or copies == 'S' then refuse_what_is_older(me, ARGV[3]) end
if late then return 'R' end
if reads and not owns then
  make_readers()
  read(me, tonumber(settled), ARGV[4], ARGV[3], '', true)
elseif reads or (held and not (owns and owner == me)) then -- those who read beside an owner may outlast it here
  return occupied('B')
else
  own(me, tonumber(settled), ARGV[4], ARGV[3], '')
end
return 'G ' .. settled
