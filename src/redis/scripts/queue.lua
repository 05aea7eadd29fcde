-- SPDX-License-Identifier: MIT
-- Who waits for a lock, in order of arrival, and who is next.
--   h, t  the first ticket of the queue, and the next to be drawn
--   #<ticket> = "<attempt> <last contact> <lease in ms> <label>" of a waiter    <attempt> = ticket
--               a zero in front of the lease: of a client in mode r, which has to have Redisson's key; two: of a
--               reader. So the quick way, and whoever knows of no readers, leaves it to others to let it in
local PROVISIONAL_LEASE = 2000 -- ms to confirm a grant that was pushed
local PLACES = 1024 -- of the queue that one look reads; most of them were left
local AGAIN = 8 -- looks in one script, each of which gets further
local GAP = 32 -- places that were left, behind those who are passed over

local function place(ticket)
  return '#' .. digits(ticket)
end

-- Who has that place in the queue, by its entry; nil = it was left.
local function parse(entry, ticket)
  if not entry then return nil end
  local attempt, contact, lease, label = string.match(entry, '^(%S+) (%d+) (%d+) (.*)$')
  return {ticket = ticket, attempt = attempt, contact = tonumber(contact), lease = tonumber(lease), label = label,
    plain = string.byte(lease) ~= 48, entry = entry, reader = string.sub(lease, 1, 2) == '00'}
end

local function waiter(attempt)
  local ticket = tonumber(redis.call('HGET', K, attempt))
  return ticket and parse(redis.call('HGET', K, place(ticket)), ticket)
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
-- has a reader and who was heard of lately. With one that reads, or beside those who do, to all that read up to
-- the next one that lives and wants it alone. (Readers alone prove little: monitors, stopped
-- processes and forked children count as well. A waiter without a reader connects again right now,
-- perhaps: it is passed over, and keeps its place.) Places that were left cost next to nothing.
-- @param looks at how many waiters this script has looked before
-- @return whether all who wait were looked at; if not, whether to look again would get further; looks
local function look_along(me, looks)
  if kept then return false, false, looks end
  if not admits(true) or waiting <= 0 then return true, false, looks end
  local q = redis.call('HMGET', K, 'h', 't')
  local head, tail = tonumber(q[1]) or 0, tonumber(q[2]) or 0
  local over, at, stopped = {}, head, false
  local read, from = {}, head
  local let_in = 0
  keep_what_is_there()
  while at < tail and at < head + PLACES and looks < LOOKS and admits(true) and not stopped do
    if at - from >= #read then
      read, from = places(at, at == head and 1 or math.min(64, tail - at)), at
    end
    local w = parse(read[at - from + 1], at)
    if w and w.attempt == me and admits(w.reader) then
      dequeue(me, at)
      grant(me, w.lease, w.label, false, w.reader)
    elseif w and now - w.contact > SILENCE then
      dequeue(w.attempt, at)
      looks = looks + 1
    elseif w and run and answers(w) then
      dequeue(w.attempt, at)
      looks = looks + 1
    elseif w and not admits(w.reader) then
      over[#over + 1], stopped = w, true
    elseif w and w.reader and let_in == MOST_READERS then
      -- It asks, and its script goes on from here.
      over[#over + 1], stopped = w, true
      redis.pcall('PUBLISH', inbox(w.attempt), 'L ' .. w.attempt .. ' ' .. K)
    elseif w and not w.plain and not w.reader and not R then
      -- It has to have Redisson's key, which only its own script can write: it takes the lock itself,
      -- and nobody overtakes it.
      over[#over + 1] = w
      local told = redis.pcall('PUBLISH', inbox(w.attempt), 'L ' .. w.attempt .. ' ' .. K)
      stopped = type(told) == 'number' and told > 0
    elseif w then
      local lease = math.min(w.lease, PROVISIONAL_LEASE)
      local told = redis.pcall('PUBLISH', inbox(w.attempt), (run and 'K ' or 'G ') .. w.attempt .. ' ' ..
        digits(math.max(number + 1, now)) .. ' ' .. digits(now) .. ' ' .. lease .. ' ' ..
        (run and digits(run + 1) .. ' ' or '') .. K)
      if type(told) == 'number' and told > 0 then
        dequeue(w.attempt, at)
        grant(w.attempt, lease, w.label, w.plain, w.reader)
        if w.reader then let_in = let_in + 1 end
      else
        over[#over + 1] = w
        looks = looks + 1
      end
    end
    at = at + 1
  end
  if joined then write_readers() end
  local moved = close_up(over, at)
  redis.call('HSET', K, 'h', digits(over[1] and over[1].ticket or at))
  count()
  return not stopped and at >= tail, not stopped and (moved or not over[1]), looks
end

-- The same, and again as long as that gets further: what one look has left behind the next does not read.
local function settle(me)
  local all, further, looks = look_along(me, 0)
  for _ = 2, AGAIN do
    if all or not admits(true) or not further or looks >= LOOKS then break end
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
