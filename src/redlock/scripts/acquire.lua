-- SPDX-License-Identifier: MIT
-- One server's vote for an attempt, and the number that it gives it: the proposal, or the first that
-- is larger than all it gave before (of a reader: before anybody read). Asked again, the hold begins anew: nobody
-- believes in it until a majority has voted. A copy that comes late, after what was asked in a later step,
-- changes nothing.
--
-- Order. Who waits has a place here, in order of arrival, and keeps it until it has this vote or gives up. (Where nobody
-- waits to read a writer that was told, and came too late, goes to the end, and the next one is told.) A reader has
-- no vote before a writer whose place is in front; so with a majority that has noted a writer no reader overtakes it.
-- The other way round a writer steps back for a reader in front, but not for ever: different servers may have seen
-- them come in different orders, and somebody has to go on.
--
-- ARGV  1 attempt    2 'q'; '1' = older copies may be on their way; '1' = wants to hear when it may
--       be free; '1' = steps back for others who want to hear, '2' = for readers in front. Of who wants to read the
--       second is 's', or with copies 'S', so that the quick way leaves it alone
--       3 step of the attempt    4 lease in ms    5 label    6 the number that is proposed
--       7 of who wants to read: the attempt of its client's hold as an owner, beside which it reads; '' = of no such
-- @return "G <number>", or who holds it (B), or R
open(KEYS[1])
exhume()
local me, step, lease, proposal = ARGV[1], ARGV[3], ARGV[4], tonumber(ARGV[6])
local _, copies, interest, manner = string.match(ARGV[2], '^(.)(.)(.)(.)')
local reads = copies == 's' or copies == 'S'
local late = comes_late(me, step)
if copies == '1' or copies == 'S' then refuse_what_is_older(me, step) end
if late then return 'R' end
if owns and owner == me then
  -- A settling of an earlier round may have left a number that is not the largest any more.
  own(me, largest, lease, step, ARGV[5])
  return 'G ' .. digits(largest)
end
local others, mine, ahead, any_reads, was_told = false, false, false, reads, false
local kept = sift(function(a, wants_to_read, told)
  if a == me then
    mine, was_told = true, told
    return false
  end
  others, ahead = true, ahead or (not mine and wants_to_read ~= reads)
  any_reads = any_reads or wants_to_read
  return true
end)
local refused = held or (manner == '1' and others) or (manner == '2' and ahead)
if reads then
  local own_hold = owns and owner == ARGV[7]
  local its = readers and find_reader(me)
  refused = not own_hold and (owns or (ahead and not (its and its.since + its.lease * 1000 > now)))
end
if refused then
  if interest == '1' and (mine or #kept < MOST) then
    local stays = mine and (any_reads or not was_told)
    local text = stays and sift(function(a)
      if a ~= me then return true end
      return true, '', digits(now)
    end) or kept
    if not stays then text[#text + 1] = me .. ' ' .. digits(now) .. (reads and 'r' or '') .. ';' end
    interested = table.concat(text)
    redis.call('HSET', K, 'i', interested)
    remember(0)
  end
  return occupied('B')
end
local given
if reads then
  make_readers()
  given = read(me, proposal, lease, step, ARGV[5])
else
  given = math.max(largest + 1, proposal)
  own(me, given, lease, step, ARGV[5])
end
if mine then note_interested(kept) end
return 'G ' .. digits(given)
