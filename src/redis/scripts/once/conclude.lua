-- SPDX-License-Identifier: MIT
-- Ends one run: writes its outcome, if it has one, frees the key, and tells those who wait; all of it or, where
-- memory is refused, nothing. Only of exactly that hold, and while its lease is not over. Safe to repeat: whose
-- conclusion stands already is told so.
--
-- ARGV  1 "<number> <attempt> ", as hold() writes it    2 mode; '1' = older copies of the attempt may be on their
--       way; Y succeeded, F failed, none = no outcome    3 epoch of the connection
--       4 how long it is kept, in ms    5 the bytes
-- @return F done, now or before; where nothing is: A freed before, L its lease had run out, N somebody else's
open(KEYS[1])
local letter = string.match(string.sub(ARGV[2], 3, 3), '%u')
local outcome = 'N'
if hold() == ARGV[1] then
  outcome = held and 'F' or (ends and 'L' or 'A')
end
local its_letter, _, whose = last_said()
if letter and its_letter == letter and whose == ARGV[1] then
  outcome = 'F'
elseif outcome == 'F' then
  if letter then
    run = math.max(run, 1)
    said = letter .. ' ' .. digits(run) .. ' '
    redis.call('HSET', K, 's', said, 'v', ARGV[5], 'k', until_when_kept(tonumber(ARGV[4])))
    live(tonumber(ARGV[4]))
    state = letter
    tell_answered()
  end
  free()
else
  -- Whoever is told that its lease is over records nothing any more, although it says so once more, and the
  -- server's clock is set back meanwhile.
  if outcome == 'L' then redis.call('HDEL', K, 'g') end
  settle()
end
if string.sub(ARGV[2], 2, 2) == '1' then refuse_copies(string.match(ARGV[1], ' (%S+)'), ARGV[3]) end
return outcome
