-- SPDX-License-Identifier: MIT
-- Frees exactly one hold, hands the lock to the first living waiter, and has the successor, another
-- attempt of the same client, wait behind, or take what nobody waited for. Safe to repeat: as long
-- as nobody else has owned the lock since, a second copy sees that the first one worked.
--
-- ARGV  3 attempt    4 number    5 epoch of the connection    6 '1' = older copies of the attempt
--       may be on their way    7 successor's attempt, '' = none    8 '1' = it waits
--       9 lease in ms    10 label    11 '1' = older copies of the successor may be on their way
-- @return F freed, A freed before, L its lease had run out, N somebody else's; then the answer to
-- the successor
open(KEYS[1], KEYS[2])
local outcome = 'N'
if owner == ARGV[3] and digits(number) == ARGV[4] then
  outcome = held and 'F' or (since and 'L' or 'A')
end
if outcome == 'F' then free() else settle() end
if ARGV[6] == '1' then bury_older(ARGV[3], ARGV[5]) end
if ARGV[7] == '' then return outcome end
if is_late(ARGV[7], ARGV[5]) then return outcome .. ' R' end
if ARGV[11] == '1' then bury_older(ARGV[7], ARGV[5]) end
return outcome .. ' ' .. take(ARGV[7], ARGV[8] == '1', tonumber(ARGV[9]), ARGV[10])
