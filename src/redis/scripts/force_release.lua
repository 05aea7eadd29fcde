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
if foreign then
  redis.call('DEL', R)
  owner, foreign = false, false
else
  redis.pcall('PUBLISH', inbox(owner), 'T ' .. owner .. ' ' .. digits(number) .. ' ' .. K)
end
number = math.max(number + 1, now)
redis.call('HSET', K, 'n', digits(number))
remember(0)
if owner then free() else held = false settle() end
return answer
