-- SPDX-License-Identifier: MIT
-- Who holds a lock, each who reads it, or who has a permit or runs a key, and who waits for it, in order of arrival. So
-- many of them: of who waits all that were left out are counted, and what would make the answer longer than a client
-- reads is left out, too. Redisson's waiters are in no queue, and not told.
--
-- KEYS  1 the lock, the semaphore or the key; in mode r the lock and then the same as Redisson keeps it
-- ARGV  3 how many at most, of those who wait, and of those who hold it
-- @return how many wait, each as "<us since it was heard of> <s: to hold it with others; o: alone> <length of its label>
--   <label>", then how many hold it with others, each as "<s or o> <number> <us to the end of its lease> <length of
--   its label> <label>", and the answer of inspect.lua
local most = tonumber(ARGV[3])
local room = 200000 -- bytes; a reply of 262144 is refused by its reader

local function list(told)
  return #told .. ' ' .. table.concat(told)
end

local function note(told, words, its_label)
  local its = words .. ' ' .. #its_label .. ' ' .. its_label .. ' '
  room = room - #its
  if #told < most and room > 0 then told[#told + 1] = its end
end

local function holders()
  local told = {}
  if not readers or not held then return told end
  if beside then note(told, 'o ' .. digits(named_number) .. ' ' .. digits(beside - now), label) end
  for at = 1, #readers, READER do
    if #told == most then break end
    local _, its_number, its_end, its_label = reader_at(at)
    if its_end <= now then break end
    note(told, 's ' .. digits(its_number) .. ' ' .. digits(its_end - now), its_label)
  end
  return told
end

open(KEYS[1], KEYS[2])
settle()
local told = {}
local at = waiting > 0 and front() or 0
local tail = waiting > 0 and tonumber(redis.call('HGET', K, 't')) or 0
local last = math.min(tail, at + PLACES)
while at < last and #told < most do
  local read = places(at, math.min(64, last - at))
  for i = 1, #read do
    local w = parse(read[i], at)
    if w then
      note(told, digits(math.max(now - w.contact, 0)) .. ' ' .. (w.reader and 's' or 'o'), run and shown(w.label) or w.label)
    end
    at = at + 1
  end
end
return list(told) .. list(holders()) .. occupied(held and 'O' or 'E')
