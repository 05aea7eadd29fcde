-- SPDX-License-Identifier: MIT
-- Makes the number of the next grant. It is the server's clock in us, or the last number plus one if that is larger.
--
-- Before: now, clock (the same as text), max_grant (the last number).
-- After: new_grant, as text; new_max_grant: the same as a number; ahead: by how many whole ms it is ahead of the clock.
local new_grant, new_max_grant, ahead = clock, now, 0
if max_grant >= now then
  new_max_grant = max_grant + 1
  new_grant, ahead = string.format('%.0f', new_max_grant), math.floor((new_max_grant - now) / 1000)
end
