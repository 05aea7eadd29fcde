-- SPDX-License-Identifier: MIT
-- Moves the ends of holds. Each is checked for attempt and number, and for its end: a hold that has
-- lapsed does not come back. Safe to repeat.
--
-- KEYS  the locks; in mode r each is followed by its Redisson key
-- ARGV  from 3 on, two for each lock: "<number> <attempt> ", lease in ms
-- @return for each lock 1 = renewed, 0 = not this hold's any more, 2 = renewed, and who waits is kept out by readers
local answers = {}
local step = MODE == 'r' and 2 or 1
for lock = 1, #KEYS / step do
  answers[lock] = '1'
  if not left or left[lock] then -- see renew_quick.lua
    local i, a = (lock - 1) * step + 1, 1 + lock * 2
    -- What a stranger has put in the place of one lock costs that hold, and no other of the batch.
    -- A key of Once has no second one, which is said by its own name once more.
    local readable = pcall(open, KEYS[i], step == 2 and KEYS[i + 1] ~= KEYS[i] and KEYS[i + 1] or nil)
    local lease = tonumber(ARGV[a + 1])
    local whose = readable and readers and prolong(ARGV[a], lease)
    if not readable then
      answers[lock] = '0'
    elseif held and hold() == ARGV[a] then
      keep_what_is_there()
      redis.call('HSET', K, 'g', until_when(lease), 'o', owned())
      remember(lease)
      if R and keyed then
        redis.call('PEXPIRE', R, lease)
      elseif R then
        write_key() -- an older client handed it over without the key
      end
    elseif whose then
      if waiting > 0 then settle() end -- who is dead keeps nobody waiting
      if waiting > 0 and whose == 'reader' then answers[lock] = '2' end
    else
      if string.byte(K, -1) ~= 33 then settle() end -- the '!' of a key, of which only its own scripts know who is next
      answers[lock] = '0'
    end
  end
end
return table.concat(answers)
