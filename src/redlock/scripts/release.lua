-- SPDX-License-Identifier: MIT
-- Takes one server's vote back: of exactly one hold, or of an attempt whatever its number, and has
-- the next one who is interested look. Safe to repeat. A copy that comes late, after what was asked
-- in a later step, changes nothing: it would free a vote of a later round.
--
-- ARGV  1 "<attempt> <number>", or "<attempt> "    2 'q'; '1' = older copies of the attempt may be on
--       their way; '1' = it leaves, and wants to hear no more: who only takes a round back goes on
--       waiting    3 step of the attempt
-- @return F freed, A freed before, L its lease had run out, N somebody else's
open(KEYS[1])
exhume()
local me, exact = string.match(ARGV[1], '^(%S+) (%d*)$')
local late = comes_late(me, ARGV[3])
local outcome = 'N'
if not late and readers then
  outcome = leave(me, exact)
elseif not late and owner == me and (exact == '' or owner .. ' ' .. digits(number) == ARGV[1]) then
  outcome = held and 'F' or (ends and 'L' or 'A')
  if ends then redis.call('HDEL', K, 'g') end
  held, owns = false, false
end
if string.sub(ARGV[2], 2, 2) == '1' then refuse_what_is_older(me, ARGV[3]) end
if late then return 'N' end
local leaves = string.sub(ARGV[2], 3, 3) == '1'
if interested and (leaves or outcome ~= 'N') then
  if leaves then forget(me) end
  hint()
end
return outcome
