-- SPDX-License-Identifier: MIT
-- Who has this server's vote as a reader. While anybody has, the lock looks to the quick ways, and to clients that know
-- of no readers, as if one owner held it, until the last of their leases ends:
--   o  "*<attempt> <number>" of one of them; or "+<attempt> <number>" of the owner beside whose hold its client reads
--   g  as ever, until the last of their leases ends
--   r  all of them, in the order in which they came: "<attempt> <number> <since when> <lease in ms> <step>;..."; those
--      with a lease of 0 have let go, and are known a while longer, since a release may be said again
--   k  when the lease of that owner ends, in us      @<attempt>  the label of one who reads
--   b  what their numbers are larger than: all that were given here before anybody read
-- A reader's number need not be larger than another reader's: so of those who come together each gets at all servers
-- the number that it has proposed, and no second round trip. It is larger than that of each owner before it, and
-- counts among those given here (the field m), so that each later owner's is larger.
local FIRST = 8 -- of their numbers that an answer tells
local LET_GO, LET_GO_LAST = 8, 2 -- who have let go that are known: while it is read, and afterwards
local named, floor, owned_until
local read, prolong, leave, settle_reader, name_all

local function ends_of(reader)
  return reader.since + reader.lease * 1000
end

-- What follows is made only where somebody reads, or wants to: each function that is made costs as much as a call
-- of the server.
function make_readers()
  if open_readers then return end

  function find_reader(attempt)
    for _, each in ipairs(readers) do
      if each.attempt == attempt then return each end
    end
  end

  -- Who holds it, and until when.
  local function judge()
    owns = owned_until ~= nil and owned_until > now
    ends = owned_until or 0
    for _, each in ipairs(readers) do ends = math.max(ends, each.lease > 0 and ends_of(each) or 0) end
    held = ends > now
  end

  -- Reads who reads, where the field o says that somebody does, or did when it was written.
  function open_readers()
    sign, named = string.sub(owner, 1, 1), string.sub(owner, 2)
    local f = redis.call('HMGET', K, 'r', 'k', 'b')
    readers, floor = {}, tonumber(f[3]) or largest
    for a, its, since, lease, step in string.gmatch(f[1] or '', '(%S+) (%d+) (%d+) (%d+) (%d+);') do
      readers[#readers + 1] = {attempt = a, number = tonumber(its), since = tonumber(since),
        lease = tonumber(lease), step = tonumber(step)}
    end
    owner, owned_until = sign == '+' and named or nil, sign == '+' and tonumber(f[2]) or nil
    judge()
  end

  -- Who reads, the smallest number first.
  local function live()
    local all = {}
    for _, each in ipairs(readers) do
      if ends_of(each) > now then all[#all + 1] = each end
    end
    table.sort(all, function(a, b)
      return a.number < b.number or (a.number == b.number and a.attempt < b.attempt)
    end)
    return all
  end

  -- Writes what has become of them; what has lapsed goes. Something that is never refused, or may be, comes before.
  function write_readers()
    local kept, gone, let_go = {}, {}, 0
    local most = held and LET_GO or LET_GO_LAST
    for i = #readers, 1, -1 do
      local each = readers[i]
      local over = each.lease == 0
      if over then let_go = let_go + 1 end
      if (over and let_go <= most) or (not over and ends_of(each) > now) then
        table.insert(kept, 1, each.attempt .. ' ' .. digits(each.number) .. ' ' .. digits(each.since) .. ' ' ..
          each.lease .. ' ' .. each.step .. ';')
      else
        table.remove(readers, i)
      end
      if over or ends_of(each) <= now then gone[#gone + 1] = '@' .. each.attempt end
    end
    local fields = {'r', table.concat(kept)}
    local function set(field, value)
      if value then
        fields[#fields + 1], fields[#fields + 2] = field, value
      else
        gone[#gone + 1] = field
      end
    end
    if not owns and sign == '+' then sign, owner = '*', nil end
    local first = not owns and live()[1]
    if first then named, number = first.attempt, first.number end
    if not held then number = largest end
    set('o', sign .. named .. ' ' .. digits(number))
    set('g', held and digits(now) .. ' ' .. digits(math.ceil((ends - now) / 1000)))
    set('k', owns and digits(owned_until))
    set('b', held and digits(floor))
    set('m', largest > number and digits(largest))
    if labelled then set('@' .. labelled.attempt, labelled.label) end
    if #kept == 0 then
      gone[#gone + 1] = 'r'
      fields[1], fields[2] = 'e', digits(expires)
    end
    redis.call('HSET', K, unpack(fields))
    if #gone > 0 then redis.call('HDEL', K, unpack(gone)) end
  end

  -- What is noted of those who have lapsed, or have let go, goes: somebody owns it.
  function forget_readers()
    local gone = {'r', 'k', 'b'}
    for _, each in ipairs(readers) do gone[#gone + 1] = '@' .. each.attempt end
    redis.call('HDEL', K, unpack(gone))
    readers, sign = nil, nil
  end

  -- The owner, beside whose hold it is read, has the vote once more.
  function own_beside(its_number, lease, step)
    number, largest, owned_until = its_number, math.max(largest, its_number), now + lease * 1000
    redis.call('HSET', K, 's', step)
    judge()
    write_readers()
    remember(tonumber(lease))
  end

  -- The vote of this server for an attempt that wants to read; lease in ms. Asked again, its hold begins anew.
  -- @param its_number the least that it gets; exactly that where it has been decided on (see relock.lua)
  -- @return its number
  function read(attempt, its_number, lease, step, label, decided)
    if not held then
      floor = largest
      if not sign then readers = {} end
      sign, named, owner, owned_until = '*', attempt, nil, nil
    elseif not readers then
      sign, named, owned_until, readers, floor = '+', owner, ends, {}, largest
    end
    local its = find_reader(attempt)
    if not its then
      its = {attempt = attempt}
      readers[#readers + 1] = its
    end
    its.number = decided and its_number or math.max(its_number, floor + 1)
    its.since, its.lease, its.step = now, tonumber(lease), step
    largest = math.max(largest, its.number)
    labelled = label ~= '' and {attempt = attempt, label = label} or nil
    judge()
    write_readers()
    remember(its.lease)
    return its.number
  end

  -- Moves the end of a lease. @return whether that hold has the vote
  function prolong(attempt, its_number, lease)
    local its = attempt ~= owner and find_reader(attempt)
    local stands = its and its.number == its_number and ends_of(its) > now
    if attempt == owner then stands = owns and number == its_number end
    if not stands then return false end
    keep_what_is_there()
    if its then
      its.since, its.lease = now, tonumber(lease)
    else
      owned_until = now + lease * 1000
    end
    judge()
    write_readers()
    remember(tonumber(lease))
    return true
  end

  -- Takes the vote back. @param exact of the hold with that number only; '' = whatever it is
  -- @return as release.lua
  function leave(attempt, exact)
    local its = find_reader(attempt)
    if attempt == owner then
      if exact ~= '' and digits(number) ~= exact then return 'N' end
      its = {attempt = owner, number = number, since = 0, lease = math.max(owned_until, 1), step = step_of_vote}
      its.lapsed = not owns
      readers[#readers + 1] = its
      owned_until = nil
    elseif not its or (exact ~= '' and digits(its.number) ~= exact) then
      return 'N'
    end
    if its.lease == 0 then return 'A' end
    local outcome = (its.lapsed or (attempt ~= owner and ends_of(its) <= now)) and 'L' or 'F'
    its.lease = 0
    judge()
    keep_what_is_there()
    write_readers()
    return outcome
  end

  -- Notes the number that has been decided on. @return whether that attempt has the vote as a reader
  function settle_reader(attempt, settled)
    local its = find_reader(attempt)
    if not its or ends_of(its) <= now then return false end
    if its.number ~= settled then
      its.number, largest = settled, math.max(largest, settled)
      keep_what_is_there()
      write_readers()
    end
    return true
  end

  -- @return what an answer begins with; whose number it tells, as src/redis reads it; the field of the label
  function first_numbers()
    local numbers = owns and {digits(number)} or {}
    local all = live()
    for i = 1, math.min(FIRST, #all) do numbers[#numbers + 1] = digits(all[i].number) end
    local front = 'V ' .. table.concat(numbers, ',') .. ' '
    if owns then return front, digits(number), 'l' end
    return front, '*' .. digits(largest) .. ' ' .. digits(all[1].number), '@' .. all[1].attempt
  end

  -- Who holds it, each "<attempt>.<number>.<label, two hexadecimal digits a byte>,"
  function name_all()
    local names = ''
    local function name(attempt, its_number, field)
      local label = string.gsub(redis.call('HGET', K, field) or '', '.', function(byte)
        return string.format('%02x', string.byte(byte))
      end)
      names = names .. attempt .. '.' .. digits(its_number) .. '.' .. label .. ','
    end
    if owns then name(owner, number, 'l') end
    for _, each in ipairs(live()) do name(each.attempt, each.number, '@' .. each.attempt) end
    return names
  end
end
