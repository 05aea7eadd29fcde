-- SPDX-License-Identifier: MIT
-- Makes the number of the next grant. It is the server's clock in us, or the last number plus one if that is larger.
--
-- Before: now, clock, last (the last number). After: its_number, as text; ahead: by how many whole ms that number is
-- ahead of the clock.
local its_number, ahead = clock, 0
if last >= now then
  its_number, ahead = string.format('%.0f', last + 1), math.floor((last + 1 - now) / 1000)
end
