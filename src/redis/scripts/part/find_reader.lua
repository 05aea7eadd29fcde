-- SPDX-License-Identifier: MIT
-- Finds the reader whose hold has a given number.
--
-- Before: readers, notes, clock, whose (nil); which: the number as text. After: whose: the attempt; nil = no reader has
-- that number.
local ids = redis.call('ZRANGE', readers, '(' .. clock, '+inf', 'BYSCORE')
for at = 1, #ids, 256 do
  local to = math.min(at + 255, #ids)
  for i, number in ipairs(redis.call('HMGET', notes, unpack(ids, at, to))) do
    if number == which then whose = ids[at + i - 1] end
  end
end
