-- SPDX-License-Identifier: MIT
-- As inspect.lua, with the holds in front, "<attempt>.<number>," each: "-" = there is none. For administrators, who
-- end a hold as its own client would.
open(KEYS[1])
local holds = '-'
if readers and held then
  holds = name_all()
elseif held then
  holds = owner .. '.' .. digits(number) .. ','
end
return holds .. ' ' .. occupied(held and 'O' or 'E')
