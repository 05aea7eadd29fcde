-- SPDX-License-Identifier: MIT
-- One lock as the server keeps it, and what every script does with it first. This text is put in
-- front of each of the other scripts.
--
-- A lock is ONE hash, so that deleting it, by hand or by FLUSHALL, leaves nothing half:
--   o  "<attempt> <grant number>" of the owner, or of the last one
--   g  "<since when> <lease in ms>": it is held; absent = it was freed
--   l  the owner's label                              e  in s: the key's end, less LIFE
--   w  how many wait; absent = nobody, and no x       b  releases with waiters (not in mode f)
--   y  until then a lock that is free is kept for Redisson      c  which waiter hears Redisson's channel
--   h, t  the first ticket of the queue, and the next to be drawn
--   #<ticket> = "<attempt> <last contact> <lease in ms> <label>" of a waiter    <attempt> = ticket
--               a zero in front of the lease: of a client in mode r, which has to have Redisson's key
--   r  the number of the last grant with which Redisson's key was written: what has another number is
--      a hold of a client that knows nothing of Redisson, and stands without that key
--   x  "<first> <next>" of the attempts of which a late duplicate is refused, in the order in which
--      they are looked at: !<n> = "<attempt> <until>", !<attempt> = "<epoch> <until>", which may be later;
--      absent = none
-- Few fields, since each costs the server time; none longer than 64 bytes as a rule, since then the
-- whole takes 200 bytes and not 600.
-- Times are the server's, in microseconds unless said. The key outlives the lease by REMEMBERED at least: as
-- long as it is there, numbers grow although the server's clock steps back. Without it they grow by the
-- clock.
--
-- Invariants. Held means: the end of the lease lies ahead. After each script: held, or nobody waits who could be told.
-- A number is granted once, and each is larger than the one before. Everything is read before
-- anything is written, so that a key of another type is left alone; the first write of each script
-- either may be refused as a whole (HSET: out of memory) or never is (HDEL, PEXPIRE), and once one
-- has passed, Redis refuses no other of that script. A grant is published after such a write only,
-- or a waiter could believe what the server then refuses to note.
--
-- KEYS  1 the lock    2 the same lock as Redisson keeps it (mode r only)
-- ARGV  1 whose request it is    2 flags, one character each, of which the first is the mode: f fair,
--       u unfair, r with Redisson; then ".<REMEMBERED>", where that is not 3600. Few arguments, since
--       each costs the server time.
local REMEMBERED = tonumber(string.match(ARGV[2], '%.(%d+)$')) or 3600 -- s that a lock is remembered after its
-- lease, up to twice that
local SHORT = math.min(1000, REMEMBERED) -- s, of most leases
local LIFE = 4600 -- s, the same for all: what the key's end is noted less, whoever wrote it
local SILENCE = 3000000 -- us without a word from a waiter, which asks each second: it counts as dead
local PROVISIONAL_LEASE = 2000 -- ms to confirm a grant that was pushed
local LOOKS = 64 -- waiters that one script looks at
local PLACES = 1024 -- of the queue that one look reads; most of them were left
local ROTATION = 16 -- releases in a row that are all the same (modes u and r)
local KEPT = 4000 -- us for Redisson to take a lock that was freed: from the message to its try it takes 600
local AGAIN = 8 -- looks in one script, each of which gets further
local GAP = 32 -- places that were left, behind those who are passed over
local TOMBSTONE_LIFE = 60000000 -- us that a duplicate may be late

local MODE = string.sub(ARGV[2], 1, 1)
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

local K, R -- the keys
local owner, number, since, lease_now, ends, waiting, tombstones, expires, held, foreign, keyed, kept, hears
local theirs -- which hold of Redisson's: "<uuid>:<thread>"; of a read lock one of those who hold it

local function digits(x)
  return string.format('%.0f', x)
end

-- Whether a key is a lock as Redisson keeps it: "<uuid>:<thread>" of whoever holds it, "mode" of a
-- read-write lock, or what we have written, an attempt: 128 bits of a client in hex, and a number.
-- Whatever else is there, such as "item:17" or "1001", is not touched.
local UUID = '^' .. string.rep('%x', 8) .. string.rep('%-' .. string.rep('%x', 4), 4) .. string.rep('%x', 8)
local function is_lock(key)
  if redis.call('HLEN', key) > LOOKS then return false end
  for _, field in ipairs(redis.call('HKEYS', key)) do
    local ours = #field > 32 and string.find(field, '^%x+$')
    if not ours and not string.find(field, UUID .. ':%d+') and field ~= 'mode' then return false end
    if field ~= 'mode' then theirs = theirs or string.sub(field, 1, 64) end
  end
  return true
end

-- Reads one lock. A lock in Redisson's hands counts as held, by an owner without a name.
local function open(key, redisson)
  K, R = key, redisson
  local f = redis.call('HMGET', K, 'o', 'g', 'w', 'x', 'e', 'r', 'y', 'c')
  owner, number, since, lease_now, ends = nil, 0, nil, nil, nil
  if f[1] then
    owner, number = string.match(f[1], '^(%S+) (%d+)$')
    number = tonumber(number)
  end
  if f[2] then
    since, lease_now = string.match(f[2], '^(%d+) (%d+)$')
    since = tonumber(since)
    ends = since + lease_now * 1000
  end
  waiting, tombstones, expires = tonumber(f[3]) or 0, f[4], tonumber(f[5]) or 0
  held = ends ~= nil and ends > now
  foreign, keyed, theirs = false, number > 0 and tonumber(f[6]) == number, nil
  if R then
    local left = redis.call('PTTL', R)
    local ours = left ~= -2 and owner and redis.call('HEXISTS', R, owner) == 1
    held = held and (ours or not keyed)
    if left ~= -2 and not ours then
      if not is_lock(R) then error('the key of that name is not a lock of Redisson') end
      foreign, held = true, true
      -- Without a time to live nothing is known of its end.
      owner, ends = '', now + (left < 0 and 3600000 or math.max(left, 1)) * 1000
    elseif ours and not held then
      redis.call('DEL', R)
    end
    -- No longer than it can have been set for, although the clock was set back.
    kept, hears = tonumber(f[7]) or 0, f[8]
    if held or kept <= now or kept > now + KEPT then kept = nil end
  end
end

-- Has the key live until REMEMBERED after this lease (in ms) at least, or after one of SHORT, and
-- seldom says so: it is given REMEMBERED once more. Clients with another REMEMBERED, or an older
-- version, read the same end of the key: less LIFE it is what they took it for.
local function remember(lease)
  local least = math.max(lease / 1000, SHORT) + REMEMBERED
  if expires + LIFE > now / 1000000 + least then return end
  expires = math.floor(now / 1000000 + least) + REMEMBERED - LIFE
  redis.call('HSET', K, 'e', digits(expires))
  redis.call('PEXPIRE', K, digits((least + REMEMBERED) * 1000))
end

-- After the number of waiters has changed, or the tombstones.
local function count()
  if waiting > 0 or tombstones then
    redis.call('HSET', K, 'w', waiting)
  else
    redis.call('HDEL', K, 'w')
  end
end

-- Writes Redisson's key for the hold that stands.
local function write_key()
  keyed = true
  redis.call('HSET', K, 'r', digits(number))
  redis.call('HSET', R, owner, 1)
  redis.call('PEXPIRE', R, lease_now)
end

-- Makes an attempt the owner; lease in ms. The lock must be free.
local function grant(attempt, lease, label, plain)
  number = math.max(number + 1, now)
  owner, held, since, lease_now, ends = attempt, true, now, lease, now + lease * 1000
  redis.call('HSET', K, 'o', attempt .. ' ' .. digits(number), 'g', digits(now) .. ' ' .. lease, 'l', label)
  remember(lease)
  if R and not plain then write_key() end
end

-- The channel of a client: beside its locks, whose keys begin with the prefix, too.
local function inbox(attempt)
  return string.match(KEYS[1], '^[^{]*') .. 'inbox:' .. string.sub(attempt, 1, 32)
end

-- Tombstones that are old enough are forgotten, a few at a time, and with the last of them what keeps the
-- quick ways closed. One that was written once more since goes to the end: it has one place however often
-- that was, since whoever connects again and again would leave more behind than others clear away.
local function exhume()
  if not tombstones then return end
  local first, last = string.match(tombstones, '^(%d+) (%d+)$')
  local at, after = tonumber(first) or 0, tonumber(last) or 0
  local stop = math.min(after, at + 8)
  while at < stop do
    local entry = redis.call('HGET', K, '!' .. digits(at))
    local attempt, till = string.match(entry or '', '^(%S+) (%d+)$')
    if attempt and tonumber(till) > now then break end
    redis.call('HDEL', K, '!' .. digits(at))
    at = at + 1
    local mark = attempt and redis.call('HGET', K, '!' .. attempt)
    local its = mark and string.match(mark, ' (%d+)$')
    if its and tonumber(its) > now then
      redis.call('HSET', K, '!' .. digits(after), attempt .. ' ' .. its)
      after = after + 1
    elseif its then
      redis.call('HDEL', K, '!' .. attempt)
    end
  end
  if at >= after then
    tombstones = nil
    redis.call('HDEL', K, 'x')
    count()
  elseif digits(at) ~= first then
    tombstones = digits(at) .. ' ' .. digits(after)
    redis.call('HSET', K, 'x', tombstones)
  end
end

-- A late duplicate of an attempt that was sent again on a newer connection (a larger epoch).
local function is_late(attempt, epoch)
  local mark = tombstones and redis.call('HGET', K, '!' .. attempt)
  return mark and tonumber(epoch) < tonumber(string.match(mark, '^%d+'))
end

-- From now on what was sent of this attempt before this epoch comes too late. Also without memory: it takes
-- little, and whatever goes before it, or comes with it, takes back or keeps what is there already.
local function refuse_older(attempt, epoch)
  redis.call('HDEL', K, '-') -- changes nothing, but what comes after it is not refused
  exhume()
  local till = digits(now + TOMBSTONE_LIFE)
  local new = redis.call('HSET', K, '!' .. attempt, epoch .. ' ' .. till) == 1
  if new or not tombstones then
    local first, after = string.match(tombstones or '0 0', '^(%d+) (%d+)$')
    tombstones = first .. ' ' .. digits(after + 1)
    redis.call('HSET', K, 'x', tombstones, '!' .. after, attempt .. ' ' .. till)
    count()
  end
  remember(0)
end

local function place(ticket)
  return '#' .. digits(ticket)
end

-- Who has that place in the queue, by its entry; nil = it was left.
local function parse(entry, ticket)
  if not entry then return nil end
  local attempt, contact, lease, label = string.match(entry, '^(%S+) (%d+) (%d+) (.*)$')
  return {ticket = ticket, attempt = attempt, contact = tonumber(contact), lease = tonumber(lease), label = label,
    plain = string.byte(lease) ~= 48, entry = entry}
end

local function waiter_at(ticket)
  return parse(redis.call('HGET', K, place(ticket)), ticket)
end

local function waiter(attempt)
  local ticket = redis.call('HGET', K, attempt)
  return ticket and waiter_at(tonumber(ticket))
end

-- The entries of so many places.
local function places(ticket, many)
  local fields = {}
  for i = 1, many do fields[i] = place(ticket + i - 1) end
  return redis.call('HMGET', K, unpack(fields))
end

-- @return the ticket of the first waiter, from where on the queue is kept: places that were left in
-- front of it are not looked at again
local function front()
  local q = redis.call('HMGET', K, 'h', 't')
  local head, tail = tonumber(q[1]) or 0, tonumber(q[2]) or 0
  local at, last, found = head, math.min(tail, head + PLACES), false
  while at < last and not found do
    for _, entry in ipairs(places(at, at == head and 1 or math.min(64, last - at))) do
      found = entry
      if found then break end
      at = at + 1
    end
  end
  if at ~= head then redis.call('HSET', K, 'h', digits(at)) end
  return at
end

-- Removes waiters from the queue (HDEL: never refused).
local function dequeue(attempt, ticket)
  redis.call('HDEL', K, attempt, place(ticket))
  waiting = waiting - 1
end

-- Those who were passed over keep their order, and move up to whoever stands behind them. Or the places
-- that others leave in between would grow into more than one script reads, within the seconds in which a
-- dead waiter at the head counts as alive, and nobody behind it would be told.
-- @param at the first place that was not looked at
-- @return whether they moved
local function close_up(over, at)
  if #over == 0 or at - over[1].ticket - #over <= GAP then return false end
  for i = #over, 1, -1 do
    local w, ticket = over[i], at - #over + i - 1
    if ticket ~= w.ticket then
      redis.call('HDEL', K, place(w.ticket))
      redis.call('HSET', K, place(ticket), w.entry, w.attempt, digits(ticket))
      w.ticket = ticket
    end
  end
  return true
end

-- Gives a free lock to the first waiter who lives: `me`, whose request this is, or one whose inbox
-- has a reader and who was heard of lately. (Readers alone prove little: monitors, stopped
-- processes and forked children count as well. A waiter without a reader connects again right now,
-- perhaps: it is passed over, and keeps its place.) Places that were left cost next to nothing.
-- @param looks at how many waiters this script has looked before
-- @return whether all who wait were looked at; if not, whether to look again would get further; looks
local function look_along(me, looks)
  if kept then return false, false, looks end
  if held or waiting <= 0 then return true, false, looks end
  local q = redis.call('HMGET', K, 'h', 't')
  local head, tail = tonumber(q[1]) or 0, tonumber(q[2]) or 0
  local over, at, stopped = {}, head, false
  local read, from = {}, head
  redis.call('HDEL', K, '-') -- changes nothing, but what comes after it is not refused
  while at < tail and at < head + PLACES and looks < LOOKS and not held and not stopped do
    if at - from >= #read then
      read, from = places(at, at == head and 1 or math.min(64, tail - at)), at
    end
    local w = parse(read[at - from + 1], at)
    if w and w.attempt == me then
      dequeue(me, at)
      grant(me, w.lease, w.label)
    elseif w and now - w.contact > SILENCE then
      dequeue(w.attempt, at)
      looks = looks + 1
    elseif w and not w.plain and not R then
      -- It has to have Redisson's key, which only its own script can write: it takes the lock itself,
      -- and nobody overtakes it.
      over[#over + 1] = w
      local told = redis.pcall('PUBLISH', inbox(w.attempt), 'L ' .. w.attempt .. ' ' .. K)
      stopped = type(told) == 'number' and told > 0
    elseif w then
      local lease = math.min(w.lease, PROVISIONAL_LEASE)
      local told = redis.pcall('PUBLISH', inbox(w.attempt), 'G ' .. w.attempt .. ' ' ..
        digits(math.max(number + 1, now)) .. ' ' .. digits(now) .. ' ' .. lease .. ' ' .. K)
      if type(told) == 'number' and told > 0 then
        dequeue(w.attempt, at)
        grant(w.attempt, lease, w.label, w.plain)
      else
        over[#over + 1] = w
        looks = looks + 1
      end
    end
    at = at + 1
  end
  local moved = close_up(over, at)
  redis.call('HSET', K, 'h', digits(over[1] and over[1].ticket or at))
  count()
  return not stopped and at >= tail, not stopped and (moved or not over[1]), looks
end

-- The same, and again as long as that gets further: what one look has left behind the next does not read.
local function settle(me)
  local all, further, looks = look_along(me, 0)
  for _ = 2, AGAIN do
    if all or held or not further or looks >= LOOKS then break end
    all, further, looks = look_along(me, looks)
  end
  return all, further
end

-- Has the first who waits look, but for `me`: the first who lives and can be told, or nobody would
-- ask before its time.
local function tell_first(me)
  if waiting <= 0 then return end
  local q = redis.call('HMGET', K, 'h', 't')
  local head, tail = tonumber(q[1]) or 0, tonumber(q[2]) or 0
  local first, at, looks, told, before = nil, head, 0, false, waiting
  local read, from = {}, head
  while at < tail and at < head + PLACES and looks < LOOKS and not told do
    if at - from >= #read then
      read, from = places(at, at == head and 1 or math.min(64, tail - at)), at
    end
    local w = parse(read[at - from + 1], at)
    if w then looks = looks + 1 end
    if w and w.attempt ~= me and now - w.contact > SILENCE then
      dequeue(w.attempt, at)
    elseif w then
      first = first or at
      local readers = w.attempt == me or redis.pcall('PUBLISH', inbox(w.attempt), 'L ' .. w.attempt .. ' ' .. K)
      told = readers == true or (type(readers) == 'number' and readers > 0)
    end
    at = at + 1
  end
  if (first or at) ~= head then redis.call('HSET', K, 'h', digits(first or at)) end
  if waiting ~= before then count() end
end

-- In mode r, after a release: Redisson's waiters do not queue with us, and are slower than ours to
-- try once they are told. So where any of them listens, each of our releases is their turn, and the
-- lock is kept for them a moment. Who tries without listening has a chance each so many releases.
-- @param heard_by_us this client has stopped to listen, and is perhaps still counted
local function share(me, heard_by_us)
  local heard = redis.pcall('PUBLISH', 'redisson_lock__channel:{' .. R .. '}', '0')
  if type(heard) ~= 'number' then heard = 0 end
  local rotate = waiting > 0 and redis.call('HINCRBY', K, 'b', 1) % ROTATION == 0
  -- A waiter of ours may hear it, too: it began to when it was the first, and stays it.
  if waiting > 0 and hears and redis.call('HEXISTS', K, hears) == 1 then heard = heard - 1 end
  if heard_by_us then heard = heard - 1 end
  if heard > 0 then
    kept = now + KEPT
    redis.call('HSET', K, 'y', digits(kept))
  end
  if heard > 0 or rotate then tell_first(me) else settle(me) end
end

-- Frees a lock that is held. @param me as in settle(): who is answered gets no push as well
local function free(me, heard_by_us)
  redis.call('HDEL', K, 'g')
  held = false
  if R then
    redis.call('HDEL', R, owner)
    share(me, heard_by_us)
  elseif waiting > 0 and MODE == 'u' and redis.call('HINCRBY', K, 'b', 1) % ROTATION ~= 0 then
    tell_first(me) -- newcomers may be quicker, for a bounded number of releases
  else
    settle(me)
  end
end

-- The answers. Each is one string; a label, of any bytes, comes last.
local function granted()
  return 'G ' .. digits(now) .. ' ' .. digits(number) .. ' ' .. digits(since) .. ' ' .. lease_now
end

-- The number is that of the last grant, with a sign where somebody else's hold stands now (Redisson's):
-- no push of a grant up to that one is to be believed, whatever the clock says. Whoever asks for nothing else (O)
-- is told whose it is.
local function occupied(letter, ahead)
  local label = held and not foreign and redis.call('HGET', K, 'l')
  local last = held and ends or kept or now
  local whose = letter == 'O' and foreign and theirs
  return letter .. ' ' .. digits(now) .. ' ' .. digits(last - now) .. ' ' ..
    (ahead and '1' or '0') .. ' ' .. (foreign and '-' or '') .. digits(number) .. ' ' .. waiting ..
    ' ' .. (label or ((foreign or kept) and 'redisson' or '')) .. (whose and ' ' .. whose or '')
end

-- Takes the lock for an attempt, or has it wait (`wait`), and answers. Asking again is the same
-- call: it finds the hold, or refreshes the place in the queue, or draws a new one.
local function take(me, wait, lease, label)
  exhume()
  if held and owner == me then return granted() end
  if not held and waiting <= 0 and not kept then
    grant(me, lease, label)
    return granted()
  end
  local w = waiting > 0 and waiter(me)
  local further = false
  if not held then
    local all = MODE == 'u' and not w -- a newcomer
    if not all then all, further = settle(me) end
    if not held and all then
      if w then
        dequeue(me, w.ticket)
        count()
      end
      grant(me, lease, label)
    end
    if held and owner == me then return granted() end
  end
  if not wait then return occupied('B') end
  local entry = me .. ' ' .. digits(now) .. (R and ' 0' or ' ') .. lease .. ' ' .. label
  if w then
    redis.call('HDEL', K, '-') -- as above: it has its place, which must not age while memory is short
    redis.call('HSET', K, place(w.ticket), entry)
    return occupied('Q', (further and not held) or front() == w.ticket)
  end
  local ticket = redis.call('HINCRBY', K, 't', 1) - 1
  waiting = waiting + 1
  redis.call('HSET', K, place(ticket), entry, me, digits(ticket), 'w', waiting)
  if waiting == 1 then redis.call('HSET', K, 'h', digits(ticket)) end
  if foreign then remember(math.floor((ends - now) / 1000)) end
  return occupied('Q', (further and not held) or waiting == 1)
end
