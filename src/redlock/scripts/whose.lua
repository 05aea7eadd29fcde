-- SPDX-License-Identifier: MIT
-- As inspect.lua, with the holds in front, "<attempt>.<number>.<label>," each: "-" = there is none. The label, two
-- hexadecimal digits a byte, is there where it is read; of one owner it stands behind, as ever. For administrators,
-- who end a hold as its own client would.
open(KEYS[1])
local holds = '-'
if readers and held then
  holds = name_all()
elseif held then
  holds = owner .. '.' .. digits(number) .. '.,'
end
return holds .. ' ' .. occupied(held and 'O' or 'E')
