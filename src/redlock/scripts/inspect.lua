-- SPDX-License-Identifier: MIT
-- Tells who holds a lock at this server (O), or that nobody does (E).
open(KEYS[1])
return occupied(held and 'O' or 'E')
