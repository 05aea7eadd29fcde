-- SPDX-License-Identifier: MIT
-- Renews the hold of a reader. Its score in `readers` is the end of its lease, and reader_info has its number.
--
-- Before: call, key, now, me, its_grant, lease, ttl, readers_end, importing: see open.lua. After: code as of renew.lua.
local readers, reader_info = key .. ':readers', key .. ':reader_info'
local latest = redis.pcall('ZRANGE', readers, '-1', '-1', 'WITHSCORES')
local its_end = not latest.err and tonumber(call('ZSCORE', readers, me) or nil)
local stored_grant = redis.pcall('HGET', reader_info, me)
local reply = latest.err or (type(stored_grant) == 'table' and stored_grant.err)
local readers_elsewhere = readers_end > now and (reply and string.find(reply, 'non local key', 1, true) or
  (importing and (tonumber(latest[2] or 0) < readers_end or call('PTTL', reader_info) == -2)))
if not its_end or type(stored_grant) ~= 'string' then
  code = readers_elsewhere and 3 or 0
elseif its_end > now and stored_grant == its_grant then
  code = 1
  for _, each in ipairs({key, readers, reader_info}) do
    call('PEXPIRE', each, string.format('%.0f', math.max(ttl + 0, call('PTTL', each))))
  end
  call('ZADD', readers, string.format('%.0f', now + lease * 1000), me)
  latest = call('ZRANGE', readers, '-1', '-1', 'WITHSCORES')
  if not readers_elsewhere or tonumber(latest[2]) > readers_end then
    call('HSET', key, 'readers_until', string.format('%.0f', latest[2]))
  end
  -- A waiter that was silent for 3 s does not count.
  for _, member in ipairs(redis.pcall('ZRANGE', key .. ':queue', '0', '15')) do
    local stored = redis.pcall('HGET', key .. ':waiters', string.sub(member, 2))
    if type(stored) == 'string' and now - string.match(stored, '^%d+') <= 3000000 then code = 2 end
  end
end
