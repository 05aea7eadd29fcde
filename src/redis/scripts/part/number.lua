-- SPDX-License-Identifier: MIT
-- The number of the next grant: the server's clock in us, or one more than the last number if that is larger.
--
-- Before: now, clock, last. After: its_number, as text; ahead: by how many ms the number is ahead of the clock.
local its_number, ahead = clock, 0
if last >= now then
  its_number, ahead = string.format('%.0f', last + 1), math.floor((last + 1 - now) / 1000)
end
