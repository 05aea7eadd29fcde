-- SPDX-License-Identifier: MIT
-- Ends a hold, whoever has it, for an administrator. The grant number is raised first, so that the old
-- holder's renewal and release find nothing and a store that has seen a later token refuses its writes;
-- the old holder is told. Then the next waiter has its turn. A hold of Redisson's ends as well.
-- Of readers it ends all that had the lock when inspect.lua told of it, or the one that is meant. A key stays pending,
-- as if its runner had died.
--
-- It ends the hold that inspect.lua has told of and no other: where the answer is lost it is sent again,
-- and by then, or when a copy comes late, the next one has the lock.
-- ARGV  3 the number in that answer, with its sign; behind it whose hold it is, where that is Redisson's: theirs have
--         no numbers, and one of them may have followed another
--       4 '1' = the hold with that number, and no other
-- @return as inspect.lua, of the hold that was ended; E where it was over already, whoever has the lock now
open(KEYS[1], KEYS[2])
local found = foreign and '-' .. digits(number) .. (theirs and ' ' .. theirs or '') or digits(number)
local answer = held and occupied('O')
local expelled = readers and held and expel(tonumber(ARGV[3]) or 0, ARGV[4] == '1')
if expelled then found = ARGV[3] end
if not held or found ~= ARGV[3] or (readers and not expelled) then
  settle()
  return occupied('E')
end
if expelled and readers then -- who came later reads on
  settle()
  return answer
end
redis.call('HDEL', K, 'g')
if not foreign and not expelled then
  redis.pcall('PUBLISH', inbox(owner), 'T ' .. owner .. ' ' .. digits(number) .. ' ' .. K)
end
if R then redis.call('DEL', R) end
number = math.max(number + 1, now)
-- Nobody's; but what was asked of a key says whose request it remembers.
owner, label, held, ends, foreign = '-', run and label or '', false, nil, false
redis.call('HSET', K, 'o', owned())
remember(0)
settle()
if R and not held then redis.pcall('PUBLISH', 'redisson_lock__channel:{' .. R .. '}', '0') end
return answer
