-- SPDX-License-Identifier: MIT
-- Moves the ends of holds. Each is checked for attempt and number, and for its end: a vote that has
-- lapsed does not come back by this (see relock.lua). Safe to repeat.
--
-- KEYS  the locks
-- ARGV  from 3 on, two for each lock: "<attempt> <number>", lease in ms
-- @return for each lock 1 = renewed, 2 = renewed, and a writer waits whom readers keep out, 0 = somebody
--         else's, or no lock at all, E = nobody's who would exclude it, or this attempt's by another number: that of
--         an earlier round came late
local answers = {}
local function a_writer_waits()
  local any = false
  sift(function(_, reads)
    any = any or not reads
    return true
  end)
  return any
end
for i = 1, #KEYS do
  -- What a stranger has put in the place of one lock costs that hold, and no other of the batch.
  local readable = pcall(open, KEYS[i])
  local a = 1 + i * 2
  local attempt, its_number = string.match(ARGV[a], '^(%S+) (%d+)$')
  if not readable then
    answers[i] = '0'
  elseif readers and prolong(attempt, tonumber(its_number), ARGV[a + 1]) then
    answers[i] = attempt ~= owner and a_writer_waits() and '2' or '1'
  elseif held and not readers and owner .. ' ' .. digits(number) == ARGV[a] then
    keep_what_is_there()
    redis.call('HSET', K, 'g', digits(now) .. ' ' .. ARGV[a + 1])
    remember(tonumber(ARGV[a + 1]))
    answers[i] = '1'
  else
    answers[i] = owns and owner ~= attempt and '0' or 'E'
  end
end
return table.concat(answers)
