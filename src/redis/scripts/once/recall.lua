-- SPDX-License-Identifier: MIT
-- Tells what is remembered of a key, and forgets it, if it is to. It forgets what a look has told of and nothing
-- else: where the answer is lost it is sent again, and by then, or when a copy comes late, the key may have been run
-- anew.
--
-- ARGV  3 the number of the grant that a look has told of; none = look
-- @return "D ...", as it was found; where its number is another one, or it is held, nothing was forgotten
open(KEYS[1])
local answer = record(true)
if ARGV[3] and state ~= 'A' and not held and digits(number) == ARGV[3] then
  redis.call('HDEL', K, 'g', 'k', 's', 'v') -- what has lapsed does not come back with the clock
  state, run, fingerprint, said = 'A', 0, '', nil
  settle()
end
return answer
