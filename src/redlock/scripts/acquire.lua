-- SPDX-License-Identifier: MIT
-- One server's vote for an attempt, and the number that it gives it: the proposal, or the first that
-- is larger than all it gave before. Asked again, the hold begins anew: nobody believes in it until
-- a majority has voted. A copy that comes late, after what was asked in a later step, changes nothing.
--
-- ARGV  1 attempt    2 'q'; '1' = older copies may be on their way; '1' = wants to hear when it may
--       be free; '1' = polite: steps back for others who want to hear
--       3 step of the attempt    4 lease in ms    5 label    6 the number that is proposed
-- @return "G <number>", or who holds it (B), or R
open(KEYS[1])
exhume()
local me = ARGV[1]
local late = comes_late(me, ARGV[3])
if string.sub(ARGV[2], 2, 2) == '1' then refuse_what_is_older(me, ARGV[3]) end
if late then return 'R' end
local g = digits(now) .. ' ' .. ARGV[4]
if held and owner == me then
  -- A settling of an earlier round may have left a number that is not the largest any more.
  if largest > number then
    number = largest
    redis.call('HSET', K, 'o', me .. ' ' .. digits(number))
    redis.call('HDEL', K, 'm')
  end
  redis.call('HSET', K, 'g', g, 's', ARGV[3])
  remember(tonumber(ARGV[4]))
  return 'G ' .. digits(number)
end
local others, mine = false, false
local kept = sift(function(a)
  if a == me then mine = true else others = true end
  return a ~= me
end)
if held or (others and string.sub(ARGV[2], 4, 4) == '1') then
  if string.sub(ARGV[2], 3, 3) == '1' and (mine or #kept < MOST) then
    -- In the order of their arrival, but for one that is refreshed: it lives, and that is what counts.
    local text = {}
    for a, contact in string.gmatch(interested or '', '(%S+) (%d+);') do
      if now - contact < SILENCE then
        text[#text + 1] = a .. ' ' .. (a == me and digits(now) or contact) .. ';'
      end
    end
    if not mine then text[#text + 1] = me .. ' ' .. digits(now) .. ';' end
    interested = table.concat(text)
    redis.call('HSET', K, 'i', interested)
    remember(0)
  end
  return occupied('B')
end
local mark = largest > number
number = math.max(largest + 1, tonumber(ARGV[6]))
redis.call('HSET', K, 'o', me .. ' ' .. digits(number), 'g', g, 's', ARGV[3], 'l', ARGV[5])
if mark then redis.call('HDEL', K, 'm') end
if mine then note_interested(kept) end
remember(tonumber(ARGV[4]))
return 'G ' .. digits(number)
