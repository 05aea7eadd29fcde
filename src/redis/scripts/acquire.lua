-- SPDX-License-Identifier: MIT
-- Takes a lock, or joins its queue. Safe to repeat under the attempt's id: the answer is the same
-- hold, or the place in the queue. A copy that comes late, after the attempt was sent again on a
-- newer connection, changes nothing.
--
-- ARGV  1 attempt    2 mode; '1' = older copies may be on their way; '1' = wait; in mode r '1' = its
--       client hears Redisson's channel, 's' = it wants to read, 'p' = it wants a permit
--       3 epoch of the connection    4 lease in ms    5 label    6 the attempt of its client's hold as an owner,
--       beside which it reads; none = of no such; of a semaphore how many permits there are
-- @return of a semaphore also "N <permits>": there is another number of them, while anybody holds or waits
open(KEYS[1], KEYS[2])
if is_late(ARGV[1], ARGV[3]) then return 'R' end
local of_semaphore = string.sub(ARGV[2], 4, 4) == 'p'
if of_semaphore then
  local wanted = tonumber(ARGV[6])
  if permits ~= wanted then
    if held or waiting > 0 then return 'N ' .. digits(permits or 0) end
    redis.call('HSET', K, 'n', wanted)
  end
  permits = wanted
end
if string.sub(ARGV[2], 2, 2) == '1' then refuse_copies(ARGV[1], ARGV[3]) end
local answer = take(ARGV[1], string.sub(ARGV[2], 3, 3) == '1', tonumber(ARGV[4]), ARGV[5],
  of_semaphore or string.sub(ARGV[2], 4, 4) == 's', not of_semaphore and ARGV[6] or nil)
if R and hears ~= ARGV[1] and string.sub(ARGV[2], 4, 4) == '1' then redis.call('HSET', K, 'c', ARGV[1]) end
return answer
