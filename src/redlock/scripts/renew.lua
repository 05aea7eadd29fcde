-- SPDX-License-Identifier: MIT
-- Moves the ends of holds. Each is checked for attempt and number, and for its end: a vote that has
-- lapsed does not come back by this (see relock.lua). Safe to repeat.
--
-- KEYS  the locks
-- ARGV  from 3 on, two for each lock: "<attempt> <number>", lease in ms
-- @return for each lock 1 = renewed, 0 = somebody else's, or no lock at all, E = nobody's, or this
--         attempt's by another number: that of an earlier round came late
local answers = {}
for i = 1, #KEYS do
  -- What a stranger has put in the place of one lock costs that hold, and no other of the batch.
  local readable = pcall(open, KEYS[i])
  local a = 1 + i * 2
  if not readable then
    answers[i] = '0'
  elseif held and owner .. ' ' .. digits(number) == ARGV[a] then
    keep_what_is_there()
    redis.call('HSET', K, 'g', digits(now) .. ' ' .. ARGV[a + 1])
    remember(tonumber(ARGV[a + 1]))
    answers[i] = '1'
  else
    answers[i] = held and owner ~= string.match(ARGV[a], '^%S+') and '0' or 'E'
  end
end
return table.concat(answers)
