-- SPDX-License-Identifier: MIT
-- Tells who holds a lock (O), or that it is free (E).
--
-- ARGV  3 the number of a hold: where it is one of those who read, and of an owner beside them, of that one is told
open(KEYS[1], KEYS[2])
settle()
local of_one = ARGV[3] and readers and held and told_of(tonumber(ARGV[3]))
return of_one or occupied(held and 'O' or 'E')
