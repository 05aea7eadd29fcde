-- SPDX-License-Identifier: MIT
-- Who holds a lock, and who waits for it, in order of arrival: so many of them, and all of whom were left out are
-- counted. Redisson's waiters are in no queue, and not told.
--
-- ARGV  3 how many waiters at most
-- @return their number, each as "<us since it was heard of> <length of its label> <label>", then the answer of
--   inspect.lua
open(KEYS[1], KEYS[2])
settle()
local most, told = tonumber(ARGV[3]), {}
local at = waiting > 0 and front() or 0
local tail = waiting > 0 and tonumber(redis.call('HGET', K, 't')) or 0
local last = math.min(tail, at + PLACES)
while at < last and #told < most do
  local read = places(at, math.min(64, last - at))
  for i = 1, #read do
    local w = parse(read[i], at)
    if w and #told < most then
      told[#told + 1] = digits(math.max(now - w.contact, 0)) .. ' ' .. #w.label .. ' ' .. w.label .. ' '
    end
    at = at + 1
  end
end
return #told .. ' ' .. table.concat(told) .. occupied(held and 'O' or 'E')
