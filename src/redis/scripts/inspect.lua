-- SPDX-License-Identifier: MIT
-- Tells who holds a lock (O), or that it is free (E).
open(KEYS[1], KEYS[2])
settle()
return occupied(held and 'O' or 'E')
