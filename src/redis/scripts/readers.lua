-- SPDX-License-Identifier: MIT
-- Who reads (holds the lock in shared mode). While anybody does, the lock is held as by one owner, whose lease ends
-- when the last of theirs does: so whoever asks for it alone is answered as ever, and by the quick ways, too.
--   o  "<number> *<attempt> <label>" of one who reads alone, and has since it was free. That and g is all that is noted
--      of it, as of an owner, so that the quick ways take and free it. Where there are more:
--      "<number> &<attempt>.<its number> <label>": the last number that was granted, and one of those who read; or
--      "+<attempt>..." in its place: the owner beside whose hold its own client reads. Its number is left out where
--      that is the last one
--   g  the end of the last of their leases
--   s  all who read, in READER bytes each: when its lease ends, its number, and the attempt; the later an end, the
--      sooner. So one is found, added or left out by a few steps, and those that have lapsed are the last; absent = none
--   @<attempt>  the label of one who reads
--   k  when the lease of the owner ends beside whose hold is read
--   z  a number: who has got a larger one, and is not in s any more, has let go. It is less than that of the first of
--      them, and not less than that of any who lapsed or was taken away
--   n  of a semaphore, whose permits are readers without owners: how many there are; see acquire.lua
-- No field tells of who reads that no hold of theirs begins or ends with; what has lapsed may stay as long as nobody
-- else is granted the lock.
local DIGITS = string.rep('%d', 16)
local READER = 61 -- bytes: with one reader the field stays short enough for its hash to be kept in one piece
local alone -- whether nobody reads, or has since it was free, but one: in o and g, or not written yet
local MOST_READERS = 256 -- that one script lets in
local named, named_number -- with `sign`: who stands for all in the field o
local noted_s, noted_k, noted_z -- those fields as they are
local unclear -- the number of the field z
local joined, longest -- those who were let in and are not written yet: fields and labels; the longest of their leases
local holds, write_readers, present, leave, prolong, expel, live, reader_at, told_of

-- Whether one that comes now may hold beside those who do.
local function admits(reader)
  return not held or (reader and readers and not beside and (not permits or live() < permits))
end

-- What follows is made only where somebody reads: each function that is made costs as much as a call of the server.
function make_readers()
  if join then return end

  local function unwritten(text)
    return tonumber(string.sub(text, 1, -6), 16) * 1000000 + tonumber(string.sub(text, -5), 16)
  end

  -- @param its "<number> <attempt> ", as hold() writes it
  local function parse_hold(its)
    local text, attempt = string.match(its, '^(%x%x%x%x%x%x+) (%S+) $')
    return attempt or '', text and unwritten(text)
  end

  -- @return where it stands, when its lease ends, its number
  local function find(attempt)
    local at = string.find(readers, ' ' .. attempt .. ' ', 1, true)
    if not at then return nil end
    at = at - 32
    return at, tonumber(string.sub(readers, at, at + 15)), tonumber(string.sub(readers, at + 16, at + 31))
  end

  local function add(attempt, its_number, its_end)
    local its = string.format('%016.0f%016.0f %-28s', its_end, its_number, attempt)
    local low, high = 0, #readers / READER
    while low < high do
      local middle = math.floor((low + high) / 2)
      if string.sub(readers, middle * READER + 1, middle * READER + 16) > string.sub(its, 1, 16) then
        low = middle + 1
      else
        high = middle
      end
    end
    readers = string.sub(readers, 1, low * READER) .. its .. string.sub(readers, low * READER + 1)
  end

  local function remove(at)
    readers = string.sub(readers, 1, at - 1) .. string.sub(readers, at + READER)
  end

  -- When the last of their leases ends.
  local function last_end()
    local last = readers ~= '' and tonumber(string.sub(readers, 1, 16)) or 0
    return math.max(last, beside or 0)
  end

  local function name(its_sign, attempt, its_number, its_label)
    sign, named, named_number, label = its_sign, attempt, its_number, its_label
    owner = sign .. named .. (named_number ~= number and '.' .. written(named_number) or '')
  end

  local function label_of(attempt)
    for i = 1, joined and #joined or 0, 2 do
      if joined[i] == '@' .. attempt then return joined[i + 1] end
    end
    return redis.call('HGET', K, '@' .. attempt) or ''
  end

  -- How many leases have not ended.
  function live()
    local low, high = 0, #readers / READER
    while low < high do
      local middle = math.floor((low + high) / 2)
      if tonumber(string.sub(readers, middle * READER + 1, middle * READER + 16)) > now then
        low = middle + 1
      else
        high = middle
      end
    end
    return low
  end

  -- Reads who reads, where the field o says that somebody does, or did when it was written.
  function open_readers()
    local last
    sign, named, last = string.match(owner, '^([*&+])([%w_-]+)%.?(%x*)$')
    named_number = last and last ~= '' and unwritten(last) or number
    alone = sign == '*'
    if alone then -- what the other fields say is of others, before it
      readers, beside, unclear, noted_s, noted_k, noted_z = '', nil, number - 1, nil, nil, nil
      if ends then add(named, number, ends) end
      return
    end
    local f = redis.call('HMGET', K, 's', 'k', 'z')
    noted_s, noted_k, noted_z = f[1], f[2], f[3]
    unclear = f[3] and unwritten(f[3]) or number
    readers, beside = f[1] or '', sign == '+' and tonumber(f[2]) or nil
    if beside and beside <= now then
      beside, unclear = nil, math.max(unclear, named_number)
    end
  end

  -- @return of who stands at that place: attempt, number, the end of its lease, label
  function reader_at(at)
    local its_end, its_number, attempt = string.match(readers, '^(' .. DIGITS .. ')(' .. DIGITS .. ') (%S+)', at)
    return attempt, tonumber(its_number), tonumber(its_end), alone and label or label_of(attempt)
  end

  -- @return the answer of inspect.lua about the hold with that number, of all that stand; nil = it is not one of them
  function told_of(its_number)
    local function words(sign_of_it, its_end, its_label)
      return 'O ' .. digits(now) .. ' ' .. digits(its_end - now) .. ' 0 ' .. sign_of_it .. digits(number) .. ' ' ..
        digits(its_number) .. ' ' .. waiting .. ' ' .. its_label
    end
    if beside and named_number == its_number then return words('+', beside, label) end
    for at = 1, #readers, READER do
      local _, found, its_end, its_label = reader_at(at)
      if its_end > now and found == its_number then return words('*', its_end, its_label) end
    end
  end

  -- Has somebody stand for all who hold the lock.
  function present()
    local at, its_end, its_number = find(named)
    local reads = sign ~= '+' and at and its_end > now and its_number == named_number
    local attempt = string.match(readers, '^%d+ (%S+)')
    local its_sign = alone and '*' or '&'
    if reads or (sign == '+' and beside) or not attempt then
      name(sign == '+' and '+' or its_sign, named, named_number, label)
    else
      name(its_sign, attempt, tonumber(string.sub(readers, 17, 32)), label_of(attempt))
    end
  end

  -- Writes what has become of them. Those that have lapsed go, a few at a time.
  function write_readers()
    for _ = 1, LOOKS do
      if readers == '' or tonumber(string.sub(readers, -READER, 15 - READER)) > now then break end
      redis.call('HDEL', K, '@' .. string.match(string.sub(readers, 33 - READER), '^%S+'))
      unclear = math.max(unclear, tonumber(string.sub(readers, 16 - READER, 31 - READER)))
      readers = string.sub(readers, 1, -READER - 1)
    end
    alone = alone and #readers == READER
    present()
    local fields = not alone and joined or {}
    local function set(field, value)
      fields[#fields + 1] = field
      fields[#fields + 1] = value
    end
    set('o', owned())
    set('g', until_when(nil, last_end()))
    if readers ~= '' and not alone then set('s', readers) end
    if beside then set('k', digits(beside)) end
    if noted_z ~= written(unclear) and not alone then set('z', written(unclear)) end
    redis.call('HSET', K, unpack(fields))
    if noted_s and (readers == '' or alone) then redis.call('HDEL', K, 's') end
    if noted_k and not beside then redis.call('HDEL', K, 'k') end
    noted_s, noted_k, noted_z = readers ~= '' and not alone, beside, not alone and written(unclear)
    if longest then remember(longest) end
    joined, longest = nil, nil
  end

  -- None of them holds the lock any more: what is noted of them goes.
  function end_readers()
    if alone then
      readers = nil
      return
    end
    local gone = {'s', 'k'}
    for its_number, attempt in string.gmatch(readers, '%d+(%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d) (%S+) +') do
      unclear = math.max(unclear, tonumber(its_number)) -- it has lapsed
      gone[#gone + 1] = '@' .. attempt
      if #gone == LOOKS then
        redis.call('HDEL', K, unpack(gone))
        gone = {'s'}
      end
    end
    redis.call('HDEL', K, unpack(gone))
    if noted_z ~= written(unclear) then redis.call('HSET', K, 'z', written(unclear)) end
    noted_s, noted_k, noted_z = nil, nil, written(unclear)
    readers, beside = nil, nil
  end

  -- @return the number of that attempt's hold, where it has one that stands, and when its lease ends
  function holds(attempt)
    if sign == '+' and named == attempt then return beside and named_number, beside end
    local at, its_end, its_number = find(attempt)
    if at and its_end > now then return its_number, its_end end
  end

  -- Makes an attempt a reader; lease in ms. write_readers() has to follow.
  function join(attempt, lease, its_label)
    if not readers then -- nothing of them was read
      readers, noted_s, noted_k, noted_z = '', nil, nil, nil
    end
    if held and not sign then
      beside, unclear = ends, number - 1
      name('+', owner, number, label)
    elseif held and alone and not joined then
      joined = {'@' .. named, label}
    end
    alone = not held
    number = math.max(number + 1, now)
    if not held then
      unclear = number - 1
      name('*', attempt, number, its_label)
    end
    add(attempt, number, now + lease * 1000)
    joined = joined or {}
    joined[#joined + 1] = '@' .. attempt
    joined[#joined + 1] = its_label
    longest, held = math.max(lease, longest or 0), true
  end

  -- Ends a hold of theirs. @return as release.lua
  function leave(its)
    local attempt, its_number = parse_hold(its)
    if not its_number then return 'N' end
    if sign == '+' and named == attempt and named_number == its_number then
      if not beside then return ends and 'L' or 'A' end
      beside = nil
    else
      local at, its_end, number_found = find(attempt)
      if not at then return its_number > unclear and its_number <= number and 'A' or 'N' end
      if number_found ~= its_number then return 'N' end
      if its_end <= now then return 'L' end
      remove(at)
      redis.call('HDEL', K, '@' .. attempt)
    end
    if last_end() > now then write_readers() else end_readers() end
    return 'F'
  end

  -- Takes the lock away from all whose numbers are not larger than that one, or from that one only, and tells them.
  -- @return whether there were any; number and fields are as if they had been the only ones, or of who is left
  function expel(last, only)
    local gone = {}
    local first = only and last or 0
    if beside and named_number <= last and named_number >= first then
      gone[1] = 'T ' .. named .. ' ' .. digits(named_number)
      beside, unclear = nil, math.max(unclear, named_number)
    end
    for at = #readers - READER + 1, 1, -READER do
      local its_number = string.sub(readers, at + 16, at + 31)
      if tonumber(its_number) <= last and tonumber(its_number) >= first then
        local attempt = string.match(string.sub(readers, at + 33, at + READER - 1), '^%S+')
        gone[#gone + 1] = 'S ' .. attempt .. ' ' .. digits(tonumber(its_number))
        unclear = math.max(unclear, tonumber(its_number))
        remove(at)
        redis.call('HDEL', K, '@' .. attempt)
      end
    end
    if not gone[1] then return false end
    for _, words in ipairs(gone) do redis.pcall('PUBLISH', inbox(string.sub(words, 3)), words .. ' ' .. K) end
    if last_end() > now then
      number = math.max(number + 1, now)
      write_readers()
    else
      end_readers()
    end
    return true
  end

  -- Moves the end of a hold of theirs. @return whose it is; nil = it does not stand
  function prolong(its, lease)
    local attempt, its_number = parse_hold(its)
    if not held or not its_number or holds(attempt) ~= its_number then return nil end
    keep_what_is_there()
    local owns = sign == '+' and named == attempt
    if owns then
      beside = now + lease * 1000
    else
      remove((find(attempt)))
      add(attempt, its_number, now + lease * 1000)
    end
    longest = lease
    write_readers()
    return owns and 'owner' or 'reader'
  end
end
