-- SPDX-License-Identifier: MIT
-- One lock as the server keeps it, and what every script does with it first. This text is put in
-- front of each of the other scripts.
--
-- A lock is ONE hash, so that deleting it, by hand or by FLUSHALL, leaves nothing half:
--   o  the attempt that owns it, or owned it last     n  its grant number
--   g  since when it is held, absent = it was freed   c  its lease in ms, counted from g
--   l  its label                                      e  when the key expires, in ms
--   w  how many wait    h, t  the first ticket of the queue, and the next to be drawn
--   #<ticket> = attempt    <attempt> = "<ticket> <last contact> <lease in ms> <label>"
--   x  attempts of which a late duplicate is refused: "<attempt> <epoch> <until>;..."
--   b  releases with waiters (not in fair mode)
-- Times are the server's, in microseconds. The key outlives the lease by an hour at least: as long
-- as it is there, numbers grow although the server's clock steps back. Without it they grow by the
-- clock.
--
-- Invariants. Held means: g + c lies ahead. After each script: held, or nobody waits who could be told.
-- A number is granted once, and each is larger than the one before. Everything is read before
-- anything is written, so that a key of another type is left alone; the first write of each script
-- either may be refused as a whole (HSET: out of memory) or never is (HDEL, PEXPIRE), and once one
-- has passed, Redis refuses no other of that script. A grant is published after such a write only,
-- or a waiter could believe what the server then refuses to note.
--
-- KEYS  1 the lock    2 the same lock as Redisson keeps it (mode r only)
-- ARGV  1 what the names of inboxes begin with    2 mode: f fair, u unfair, r with Redisson
local REMEMBERED = 3600000 -- ms that a lock is remembered after its lease, up to twice that
local SILENCE = 3000000 -- us without a word from a waiter, who asks each second: he is dead
local CLAIM = 2000 -- ms to confirm a grant that was pushed
local LOOKS = 64 -- waiters that one script looks at
local TURNS = 16 -- releases in a row that are all the same (modes u and r)
local BURIED = 60000000 -- us that a duplicate may be late

local MODE = ARGV[2]
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

local K, R -- the keys
local owner, number, since, lease_now, ends, waiting, buried, expires, held, foreign

local function digits(x)
  return string.format('%.0f', x)
end

-- Reads one lock. A lock in Redisson's hands counts as held, by an owner without a name.
local function open(key, redisson)
  K, R = key, redisson
  local f = redis.call('HMGET', K, 'o', 'n', 'g', 'c', 'w', 'x', 'e')
  owner, number, since, lease_now = f[1], tonumber(f[2]) or 0, tonumber(f[3]), tonumber(f[4])
  waiting, buried, expires = tonumber(f[5]) or 0, f[6], tonumber(f[7]) or 0
  ends = since and since + lease_now * 1000
  held = ends ~= nil and ends > now
  foreign = false
  if R then
    local left = redis.call('PTTL', R)
    local ours = left ~= -2 and owner and redis.call('HEXISTS', R, owner) == 1
    held = held and ours
    if left ~= -2 and not ours then
      foreign, held = true, true
      owner, ends = '', now + math.max(left, 1) * 1000
    elseif ours and not held then
      redis.call('DEL', R)
    end
  end
end

-- Has the key live long enough, and seldom says so.
local function remember(lease)
  if expires * 1000 > now + (lease + REMEMBERED) * 1000 then return end
  expires = now / 1000 + lease + 2 * REMEMBERED
  redis.call('HSET', K, 'e', digits(expires))
  redis.call('PEXPIRE', K, lease + 2 * REMEMBERED)
end

-- Makes an attempt the owner; lease in ms. The lock must be free.
local function grant(attempt, lease, label)
  number = math.max(number + 1, now)
  owner, held, since, lease_now, ends = attempt, true, now, lease, now + lease * 1000
  redis.call('HSET', K, 'o', attempt, 'n', digits(number), 'g', digits(now), 'c', lease, 'l', label)
  remember(lease)
  if R then
    redis.call('HSET', R, attempt, 1)
    redis.call('PEXPIRE', R, lease)
  end
end

local function inbox(attempt)
  return ARGV[1] .. string.sub(attempt, 1, 32)
end

-- A late duplicate of an attempt that was sent again on a newer connection (a larger epoch).
local function is_late(attempt, epoch)
  if not buried then return false end
  for a, e in string.gmatch(buried, '(%S+) (%d+) %d+;') do
    if a == attempt and tonumber(epoch) < tonumber(e) then return true end
  end
  return false
end

-- From now on what was sent of this attempt before this epoch comes too late.
local function bury_older(attempt, epoch)
  local kept = {}
  for a, e, till in string.gmatch(buried or '', '(%S+) (%d+) (%d+);') do
    if a ~= attempt and tonumber(till) > now then kept[#kept + 1] = a .. ' ' .. e .. ' ' .. till .. ';' end
  end
  kept[#kept + 1] = attempt .. ' ' .. epoch .. ' ' .. digits(now + BURIED) .. ';'
  redis.call('HSET', K, 'x', table.concat(kept))
  remember(0)
end

-- What is stored of a waiter.
local function waiter(attempt)
  local entry = redis.call('HGET', K, attempt)
  if not entry then return nil end
  local ticket, contact, lease, label = string.match(entry, '^(%d+) (%d+) (%d+) (.*)$')
  return {ticket = tonumber(ticket), contact = tonumber(contact), lease = tonumber(lease), label = label}
end

-- Removes waiters from the queue (HDEL: never refused).
local function dequeue(attempt, ticket)
  redis.call('HDEL', K, attempt, '#' .. digits(ticket))
  waiting = waiting - 1
end

-- Gives a free lock to the first waiter who lives: `me`, whose request this is, or one whose inbox
-- has a reader and who was heard of lately. (Readers alone prove little: monitors, stopped
-- processes and forked children count as well. A waiter without a reader connects again right now,
-- perhaps: he is passed over, and keeps his place.)
-- @return whether all who wait were looked at
local function settle(me)
  if held or waiting <= 0 then return true end
  local q = redis.call('HMGET', K, 'h', 't')
  local head, tail = tonumber(q[1]) or 0, tonumber(q[2]) or 0
  local first, at = nil, head
  redis.call('HDEL', K, '-') -- changes nothing, but what comes after it is not refused
  while at < tail and at < head + LOOKS and not held do
    local ticket = '#' .. digits(at)
    local attempt = redis.call('HGET', K, ticket)
    local w = attempt and waiter(attempt)
    if not w or w.ticket ~= at then
      if attempt then redis.call('HDEL', K, ticket) end
    elseif attempt == me then
      dequeue(attempt, at)
      grant(attempt, w.lease, w.label)
    elseif now - w.contact > SILENCE then
      dequeue(attempt, at)
    else
      local lease = math.min(w.lease, CLAIM)
      local told = redis.pcall('PUBLISH', inbox(attempt), 'G ' .. attempt .. ' ' ..
        digits(math.max(number + 1, now)) .. ' ' .. digits(now) .. ' ' .. lease .. ' ' .. K)
      if type(told) == 'number' and told > 0 then
        dequeue(attempt, at)
        grant(attempt, lease, w.label)
      else
        first = first or at
      end
    end
    at = at + 1
  end
  redis.call('HSET', K, 'h', digits(first or at), 'w', waiting)
  return at >= tail
end

-- Frees a lock that is held.
local function free()
  redis.call('HDEL', K, 'g')
  held = false
  if R then redis.call('HDEL', R, owner) end
  if waiting > 0 and MODE ~= 'f' then
    -- Not each release hands over: in mode u newcomers may be quicker, for a bounded number of
    -- releases; in mode r Redisson's waiters, who do not queue with us, have their turn.
    local turn = redis.call('HINCRBY', K, 'b', 1) % TURNS == 0
    if turn == (MODE == 'u') then
      settle()
    else
      local head = redis.call('HGET', K, '#' .. (redis.call('HGET', K, 'h') or '0'))
      if head then redis.pcall('PUBLISH', inbox(head), 'L ' .. head .. ' ' .. K) end
    end
  else
    settle()
  end
  if R and not held then redis.pcall('PUBLISH', 'redisson_lock__channel:{' .. R .. '}', '0') end
end

-- The answers. Each is one string; a label, of any bytes, comes last.
local function granted()
  return 'G ' .. digits(now) .. ' ' .. digits(number) .. ' ' .. digits(since) .. ' ' .. lease_now
end

local function occupied(letter, ahead)
  local label = held and not foreign and redis.call('HGET', K, 'l')
  return letter .. ' ' .. digits(now) .. ' ' .. (held and digits(ends - now) or '0') .. ' ' ..
    (ahead and '1' or '0') .. ' ' .. (held and not foreign and digits(number) or '0') .. ' ' .. waiting ..
    ' ' .. (label or (foreign and 'redisson' or ''))
end

-- Takes the lock for an attempt, or has it wait (`wait`), and answers. Asking again is the same
-- call: it finds the hold, or refreshes the place in the queue, or draws a new one.
local function take(me, wait, lease, label)
  if held and owner == me then return granted() end
  if not held and waiting <= 0 then
    grant(me, lease, label)
    return granted()
  end
  local w = waiting > 0 and waiter(me)
  if not held then
    local all = (MODE == 'u' and not w) or settle(me)
    if not held and all then
      if w then dequeue(me, w.ticket) end
      grant(me, lease, label)
    end
    if held and owner == me then return granted() end
  end
  if not wait then return occupied('B') end
  if w then
    redis.call('HSET', K, me, digits(w.ticket) .. ' ' .. digits(now) .. ' ' .. lease .. ' ' .. label)
    return occupied('Q', tonumber(redis.call('HGET', K, 'h')) == w.ticket)
  end
  local ticket = redis.call('HINCRBY', K, 't', 1) - 1
  local place = '#' .. digits(ticket)
  waiting = waiting + 1
  redis.call('HSET', K, place, me, me, digits(ticket) .. ' ' .. digits(now) .. ' ' .. lease .. ' ' .. label,
    'w', waiting)
  if waiting == 1 then redis.call('HSET', K, 'h', digits(ticket)) end
  if foreign then remember(math.floor((ends - now) / 1000)) end
  return occupied('Q', waiting == 1)
end
