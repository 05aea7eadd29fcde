-- SPDX-License-Identifier: MIT
-- How a lock is taken and freed, and what is answered.
local ROTATION = 16 -- releases in a row that are all the same (modes u and r)

-- Also without memory: it takes little, and whatever goes before it, or comes with it, takes back or keeps
-- what is there already.
local function refuse_copies(attempt, epoch)
  keep_what_is_there()
  refuse_older(attempt, epoch)
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
    redis.call('HDEL', R, OURS .. owner)
    share(me, heard_by_us)
  elseif waiting > 0 and MODE == 'u' and redis.call('HINCRBY', K, 'b', 1) % ROTATION ~= 0 then
    tell_first(me) -- newcomers may be quicker, for a bounded number of releases
  else
    settle(me)
  end
end

-- The answers. Each is one string; a label, of any bytes, comes last.
-- @param its, until_then number of the hold and the end of its lease, where that is not the owner's
local function granted(its, until_then)
  its, until_then = its or number, until_then or ends
  -- Since its grant, as a rule. Not where its number lies ahead of the clock, and not for longer than any lease:
  -- where the clock was set back the hold lasts longer than anybody may ask for.
  local since = math.min(its, now)
  if until_then - since > 86400000000 then since = now end
  local lease = math.min(math.max(math.floor((until_then - since) / 1000), 1), 86400000)
  return 'G ' .. digits(now) .. ' ' .. digits(its) .. ' ' .. digits(since) .. ' ' .. lease ..
    (run and ' ' .. digits(run) or '')
end

-- The number is that of the last grant, with a sign where somebody else's hold stands now (Redisson's):
-- no push of a grant up to that one is to be believed, whatever the clock says. Whoever asks for nothing else (O)
-- is told whose it is. With the sign of readers.lua it is followed by the number of the one who stands for all.
local function occupied(letter, ahead)
  local others = readers and held and not foreign
  if others then present() end
  local its = held and not foreign and (run and shown(label) or label)
  local last = held and ends or kept or now
  local whose = letter == 'O' and foreign and theirs
  return letter .. ' ' .. digits(now) .. ' ' .. digits(last - now) .. ' ' ..
    (ahead and '1' or '0') .. ' ' .. (foreign and '-' or not others and '' or sign == '+' and '+' or '*') .. digits(number) ..
    (others and ' ' .. digits(named_number) or '') .. ' ' .. waiting ..
    ' ' .. (its or ((foreign or kept) and 'redisson' or '')) .. (whose and ' ' .. whose or '')
end

-- @return the answer to an attempt that has the lock; nil = it has not
local function its_grant(me)
  if held and owner == me then return granted() end
  local its, until_then
  if readers and held then its, until_then = holds(me) end
  return its and granted(its, until_then)
end

-- Takes the lock for an attempt, or has it wait (`wait`), and answers. Asking again is the same
-- call: it finds the hold, or refreshes the place in the queue, or draws a new one.
-- @param reader it wants to hold the lock with others
-- @param own the attempt of the same client's hold as an owner, which does not keep its reader out
local function take(me, wait, lease, its_label, reader, own)
  exhume()
  local answer = its_grant(me)
  if answer then return answer end
  local barges = false
  local may = own and held and (owner == own or (beside and sign == '+' and named == own))
  may = may or (admits(reader) and waiting <= 0 and not kept)
  local w = not may and waiting > 0 and waiter(me)
  local further = false
  if not may and admits(reader) then
    barges = MODE == 'u' and not w and not held -- a newcomer
    local all = barges
    if not all then all, further = settle(me) end
    answer = its_grant(me)
    if answer then return answer end
    may = admits(reader) and all
  end
  if may then
    if w then
      dequeue(me, w.ticket)
      count()
    end
    grant(me, lease, its_label, false, reader)
    if joined then write_readers() end
    if barges and reader then settle() end -- those who read, and lead the queue
    return its_grant(me)
  end
  if not wait then return occupied('B') end
  local entry = me .. ' ' .. digits(now) .. (R and ' 0' or reader and ' 00' or ' ') .. lease .. ' ' .. its_label
  if w then
    keep_what_is_there() -- it has its place, which must not age while memory is short
    redis.call('HSET', K, place(w.ticket), entry)
    return occupied('Q', (further and admits(reader)) or front() == w.ticket)
  end
  local ticket = redis.call('HINCRBY', K, 't', 1) - 1
  waiting = waiting + 1
  redis.call('HSET', K, place(ticket), entry, me, digits(ticket), 'w', waiting)
  if waiting == 1 then redis.call('HSET', K, 'h', digits(ticket)) end
  if foreign then remember(math.floor((ends - now) / 1000)) end
  return occupied('Q', (further and admits(reader)) or waiting == 1)
end
