-- SPDX-License-Identifier: MIT
-- Takes a lock from whoever holds it, for an administrator. The grant number is raised first, so
-- that the old holder's renewal and release find nothing and a store that has seen a later token
-- refuses his; he is told. Then the next waiter has his turn. A hold of Redisson's ends as well.
-- @return as inspect.lua, of the hold that was ended
open(KEYS[1], KEYS[2])
if not held then
  settle()
  return occupied('E')
end
local answer = occupied('O')
redis.call('HDEL', K, 'g')
if not foreign then
  redis.pcall('PUBLISH', inbox(owner), 'T ' .. owner .. ' ' .. digits(number) .. ' ' .. K)
end
if R then redis.call('DEL', R) end
number = math.max(number + 1, now)
redis.call('HSET', K, 'o', '- ' .. digits(number)) -- nobody's
remember(0)
owner, held, since, foreign = '-', false, nil, false
settle()
if R and not held then redis.pcall('PUBLISH', 'redisson_lock__channel:{' .. R .. '}', '0') end
return answer
