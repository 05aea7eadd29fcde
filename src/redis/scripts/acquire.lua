-- SPDX-License-Identifier: MIT
-- Takes a lock, or joins its queue. Safe to repeat under the attempt's id: the answer is the same
-- hold, or the place in the queue. A copy that comes late, after the attempt was sent again on a
-- newer connection, changes nothing.
--
-- ARGV  3 attempt    4 epoch of the connection    5 '1' = older copies may be on their way
--       6 '1' = wait    7 lease in ms    8 label
open(KEYS[1], KEYS[2])
if is_late(ARGV[3], ARGV[4]) then return 'R' end
if ARGV[5] == '1' then bury_older(ARGV[3], ARGV[4]) end
return take(ARGV[3], ARGV[6] == '1', tonumber(ARGV[7]), ARGV[8])
