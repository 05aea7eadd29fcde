-- SPDX-License-Identifier: MIT
-- Late duplicates. A request carries a number that grows: of the client's connection (an epoch), or of the
-- attempt (a step) where a client reaches a server by several addresses, perhaps, and counts the connections
-- of each by itself. Whoever asks again after an answer was lost leaves that number with the lock: a
-- tombstone. What comes late, with a smaller one, changes nothing.
--
-- The fields of a lock's hash that are written here and nowhere else:
--   x  "<first> <next>" of the attempts of which a late duplicate is refused, in the order in which
--      they are looked at: !<n> = "<attempt> <until>", !<attempt> = "<epoch or step> <until>", which may be
--      later; absent = none

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

-- @return whether a request with that number comes after one with a larger number
local function is_late(attempt, step)
  local mark = tombstones and redis.call('HGET', K, '!' .. attempt)
  return mark and tonumber(step) < tonumber(string.match(mark, '^%d+'))
end

-- From now on what was sent of this attempt before that number comes too late.
local function refuse_older(attempt, step)
  exhume()
  local till = digits(now + TOMBSTONE_LIFE)
  local new = redis.call('HSET', K, '!' .. attempt, step .. ' ' .. till) == 1
  if new or not tombstones then
    local first, after = string.match(tombstones or '0 0', '^(%d+) (%d+)$')
    tombstones = first .. ' ' .. digits(after + 1)
    redis.call('HSET', K, 'x', tombstones, '!' .. after, attempt .. ' ' .. till)
    count()
  end
  remember(0)
end
