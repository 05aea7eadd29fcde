-- SPDX-License-Identifier: MIT
-- Finds the reader whose hold has a given number.
--
-- Before: readers, reader_info, clock, holder (nil); which: the number as text. After: holder: the attempt; nil = no
-- reader has that number.
local ids = call('ZRANGE', readers, '(' .. clock, '+inf', 'BYSCORE')
for at = 1, #ids, 256 do
  local to = math.min(at + 255, #ids)
  for i, its_grant in ipairs(call('HMGET', reader_info, unpack(ids, at, to))) do
    if its_grant == which then holder = ids[at + i - 1] end
  end
end
