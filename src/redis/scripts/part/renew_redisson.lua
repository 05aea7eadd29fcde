-- SPDX-License-Identifier: MIT
-- Renews Redisson's key of a hold. A hold for which that key was written ends with it. Another hold ends only if
-- another client has that key now; if there is no such key, the script writes it.
--
-- Before: call, key, redisson_key, me, its_grant, lease, ttl. After: code: 0 = the hold is over.
local has_field = redis.pcall('HEXISTS', redisson_key, 'mortise:' .. me)
if has_field ~= 1 and (call('HGET', key, 'redisson_grant') == its_grant or call('PTTL', redisson_key) ~= -2) then
  code = 0
elseif has_field ~= 1 then
  call('PEXPIRE', key, string.format('%.0f', math.max(ttl + 0, call('PTTL', key))))
  call('HSET', key, 'redisson_grant', its_grant)
  call('HSET', redisson_key, 'mortise:' .. me, '1')
end
if code == 1 then call('PEXPIRE', redisson_key, lease) end
