-- SPDX-License-Identifier: MIT
-- Gives a lock to the first living waiter, or to all readers that lead the queue. A waiter lives if a client listens to
-- its inbox and if it asked within 3 s. (Listeners alone prove little: monitors, stopped processes and forked children
-- also count.) One that was silent leaves the queue. One without a listener is passed over, and keeps its place.
--
-- One script looks at 64 waiters without success at most, and lets in 256 readers. A waiter gets the lock for 2 s at
-- most. Its first renewal confirms that. The attempt `me` is next without a message: it has an answer.
--
-- Before: all of take.lua. After: owned, ends, read, last, f as they are now; mine: the number of the hold that `me`
-- got; gone: how many waiters were removed; all: the script has looked at every waiter.
local looked, passed, gone, let_in, most, grew = 0, 0, 0, 0, 0, 0
local at_once = place and not kept and (barges or (many == 0 and not owned))
local stop = kept and not tells
while not stop and looked < 64 and (tells or at_once or (not owned and read < limit)) do
  local front = at_once and {place} or many > 0 and redis.call('ZRANGE', queue, passed, passed + most) or {}
  local queued = front[1] and not at_once
  if queued then
    most = 15
  elseif not at_once then
    all, stop = true, true
    if place and not mine then front = {place} end
  end
  for _, each in ipairs(front) do
    local attempt, wants = string.sub(each, 2), string.sub(each, 1, 1)
    local asks, reads = each == place, wants == 'r'
    if looked == 64 or (not tells and ((owned and not (beside and asks)) or read >= limit)) then
      stop = true
      break
    end
    local its_place = not asks and redis.pcall('HGET', waiters, attempt)
    if type(its_place) == 'table' and string.find(its_place.err, 'non local key', 1, true) then
      apart, all, stop = true, true, true
      break
    end
    local contact, its_lease, its_label = now, lease, label
    if not asks then
      -- include: place.lua
    end
    if contact and reads and not asks and read > let_in then
      -- It may have got its hold while its place was at another server of the cluster.
      local its_end = redis.pcall('ZSCORE', readers, attempt)
      if type(its_end) == 'string' and its_end + 0 > now then contact = nil end
    end
    if not contact then
      redis.call('ZREM', queue, each)
      redis.call('HDEL', waiters, attempt)
      looked, gone, many = looked + 1, gone + 1, many - 1
    elseif not tells and not reads and read > 0 then
      stop = true
      break
    elseif (tells and not (asks and barges)) or (not asks and (let_in == 256 or (wants == 'x' and not other))) then
      -- It has to ask: for Redisson's key, which only its own script can write, or since this script ends here.
      local heard = asks and 1 or redis.pcall('PUBLISH',
        string.match(key, '^[^{]*') .. 'inbox:' .. string.sub(attempt, 1, 16), 'L ' .. attempt .. ' ' .. key)
      stop = type(heard) == 'number' and heard > 0
      looked, passed = looked + 1, passed + 1
      if stop then break end
    else
      -- A write comes before the message. If the server refuses it (out of memory), nothing has changed. If not, the
      -- server accepts the writes behind the message.
      if queued then redis.call('PEXPIRE', queue, '10000') end
      -- include: number.lua
      -- A new key would meet one that is still to come.
      local comes = reads and arrives and (redis.call('PTTL', readers) == -2 or redis.call('PTTL', notes) == -2)
      local said = comes and {err = 'non local key'} or
        reads and redis.pcall('ZADD', readers, string.format('%.0f', now + its_lease * 1000), attempt)
      if type(said) == 'table' then
        if not string.find(said.err, 'non local key', 1, true) then return said end
        hidden, stop = true, true
        break
      end
      -- include: offer.lua
      if type(heard) == 'number' and heard > 0 then
        last = its_number + 0
        if asks then mine, tells = last, false end
        if reads then
          redis.call('HSET', notes, attempt, its_number, attempt .. ':label', its_label)
          read, let_in, grew = read + 1, let_in + 1, math.max(grew, now + its_lease * 1000)
        else
          -- include: own.lua
          owned, ends, f[1], f[3], f[5] = true, now + its_lease * 1000, attempt, its_number, its_label
          if wants == 'x' then
            redis.call('HSET', key, 'keyed', its_number)
            redis.call('HSET', other, 'mortise:' .. attempt, '1')
            redis.call('PEXPIRE', other, its_lease)
          end
        end
        if queued then
          redis.call('ZREM', queue, each)
          redis.call('HDEL', waiters, attempt)
          gone, many = gone + 1, many - 1
        end
      else
        if reads then redis.call('ZREM', readers, attempt) end
        looked, passed = looked + 1, passed + 1
      end
    end
  end
  at_once, all, stop = false, all or many == 0, stop or (many == 0 and (mine or not place))
end
-- include: note_readers.lua
