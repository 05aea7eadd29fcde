-- SPDX-License-Identifier: MIT
-- Reports the holders of a lock, and its waiters in order of arrival. It counts all waiters, and lists some of them. It
-- leaves out what would make the reply longer than a client reads. Redisson's waiters are in no queue.
--
-- KEYS  as of acquire.lua
-- ARGV  1 how many waiters to list at most, and how many holders    2 the grant number of the only hold to list; '' =
--       all
-- @return {'held' or 'free', now, ...}: see inspect.lua; then a list of waiters, each as three items (us since its last
--         request, 'w' = to own the lock or 'r' = to read it, label), and one of holders, each as four items ('w' or
--         'r', grant number, us until the lease ends, label)
local call, key, redisson_key, importing, most = redis.call, KEYS[1], KEYS[2], false, tonumber(ARGV[1])
-- include: fields.lua
-- include: look.lua
local bytes, waiting, holders = 200000, {}, {}
for _, member in ipairs(waiter_count > 0 and most > 0 and call('ZRANGE', queue, '0', most - 1) or {}) do
  local stored = redis.pcall('HGET', waiters, string.sub(member, 2))
  local contact, label = string.match(type(stored) == 'string' and stored or '', '^(%d+) %d+ (.*)$')
  bytes = bytes - 48 - #(label or '')
  if contact and bytes > 0 then
    waiting[#waiting + 1] = math.max(now - contact, 0)
    waiting[#waiting + 1] = string.sub(member, 1, 1) == 'r' and 'r' or 'w'
    waiting[#waiting + 1] = label
  end
end
if is_owned and not redisson_owner and (ARGV[2] == '' or ARGV[2] == grant) then
  holders = {'w', tonumber(grant), lease_ends - now, owner_label or ''}
end
local reading, holder = {}, nil
if reader_count > 0 and not readers_elsewhere and ARGV[2] == '' then
  reading = call('ZRANGE', readers, '(' .. clock, '+inf', 'BYSCORE', 'LIMIT', '0', most)
elseif reader_count > 0 and not readers_elsewhere then
  local which = ARGV[2]
  -- include: find_reader.lua
  reading = {holder}
end
for _, attempt in ipairs(reading) do
  local info = call('HMGET', reader_info, attempt, attempt .. ':label')
  bytes = bytes - 64 - #(info[2] or '')
  if #holders >= 4 * most or bytes < 0 then break end
  if info[1] then
    local n = #holders
    holders[n + 1], holders[n + 2] = 'r', tonumber(info[1])
    holders[n + 3], holders[n + 4] = call('ZSCORE', readers, attempt) - now, info[2] or ''
  end
end
-- include: holder.lua
if redisson_owner then held_label = 'redisson ' .. redisson_owner end
return {left > 0 and 'held' or 'free', now, left, 0, held_grant, waiter_count, held_label, held_mode, max_grant,
  waiting, holders}
