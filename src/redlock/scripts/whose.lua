-- SPDX-License-Identifier: MIT
-- As inspect.lua, with the attempt that holds it in front: "-" = nobody does. For administrators, who end a hold
-- as its own client would.
open(KEYS[1])
return (held and owner or '-') .. ' ' .. occupied(held and 'O' or 'E')
