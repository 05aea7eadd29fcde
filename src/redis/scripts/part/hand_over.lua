-- SPDX-License-Identifier: MIT
-- Gives a lock to the first living waiter, or to all readers that lead the queue. A waiter lives if a client listens to
-- its inbox and if it asked within 3 s. (Listeners alone prove little: monitors, stopped processes and forked children
-- also count.) A silent waiter leaves the queue. A waiter without a listener is passed over, and keeps its place. If
-- all waiters are passed over, the attempt that asks gets the lock.
--
-- One script looks at 64 waiters without success at most, and lets in 256 readers.
--
-- Before: all of take.lua. After: owned, ends, read, last, f as they are now; mine: the number of the hold that `me`
-- got; gone: how many waiters were removed; all: the script has looked at every waiter.
local looked, passed, gone, let_in, new_end = 0, 0, 0, 0, 0
local more = 0 -- how many waiters to fetch after the next one
local at_once = place and not kept and (barges or (many == 0 and not owned))
local stop = kept and not tells -- reserved for Redisson
while not stop and looked < 64 and (tells or at_once or (not owned and read < limit)) do
  local front = at_once and {place} or many > 0 and redis.call('ZRANGE', queue, passed, passed + more) or {}
  local queued = front[1] and not at_once
  if queued then
    more = 15
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
      -- It may have got a hold while its place was at another server of the cluster.
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
      -- This waiter must ask. Only a script of its own request may name Redisson's key, and this one lets in no more.
      local heard = asks and 1 or redis.pcall('PUBLISH',
        string.match(key, '^[^{]*') .. 'inbox:' .. string.sub(attempt, 1, 16), 'L ' .. attempt .. ' ' .. key)
      stop = type(heard) == 'number' and heard > 0
      looked, passed = looked + 1, passed + 1
      if stop then break end
    else
      -- include: grant.lua
    end
  end
  at_once, all, stop = false, all or many == 0, stop or (many == 0 and (mine or not place))
end
-- include: note_readers.lua
