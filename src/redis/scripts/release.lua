-- SPDX-License-Identifier: MIT
-- Frees exactly one hold, hands the lock to the first living waiter, and has the successor, another
-- attempt of the same client, wait behind, or take what nobody waited for. Safe to repeat: as long
-- as nobody else has owned the lock since, a second copy sees that the first one worked.
--
-- ARGV  1 "<number> <attempt> ", as hold() writes it
--       2 mode; the sum of 1: older copies of the attempt may be on their way, 2: this client may still
--       listen to Redisson's channel; '1' = the successor waits; '1' = older copies of that may be on
--       their way; 's' = it wants to read
--       3 epoch of the connection    4 successor's attempt, none = no successor    5 its lease in ms
--       6 its label    7 as in acquire.lua
-- @return F freed, A freed before, L its lease had run out, N somebody else's; then the answer to
-- the successor
open(KEYS[1], KEYS[2])
local outcome = 'N'
if hold() == ARGV[1] then
  outcome = held and 'F' or (ends and 'L' or 'A')
elseif readers then
  outcome = leave(ARGV[1])
end
local successor, late = ARGV[4], ARGV[4] and is_late(ARGV[4], ARGV[3])
if late then successor = nil end
local about = tonumber(string.sub(ARGV[2], 2, 2)) or 0
if outcome == 'F' and not readers then free(successor, about > 1) else settle(successor) end
if about % 2 == 1 then refuse_copies(string.match(ARGV[1], ' (%S+)'), ARGV[3]) end
if late then return outcome .. ' R' end
if not successor then return outcome end
if string.sub(ARGV[2], 4, 4) == '1' then refuse_copies(successor, ARGV[3]) end
return outcome .. ' ' .. take(successor, string.sub(ARGV[2], 3, 3) == '1', tonumber(ARGV[5]), ARGV[6],
  string.sub(ARGV[2], 5, 5) == 's', ARGV[7])
