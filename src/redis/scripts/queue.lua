-- SPDX-License-Identifier: MIT
-- Reports the holders of a lock, and its waiters in order of arrival. It counts all waiters, and lists some of them. It
-- leaves out what would make the reply longer than a client reads. Redisson's waiters are in no queue.
--
-- KEYS  as of acquire.lua    ARGV  1 how many waiters to list at most, and how many holders    2 the number of the only
--       hold to list; '' = all
-- @return {'held' or 'free', now, ...}: see inspect.lua; then a list of waiters, each as three items (us since it asked
--         last, 'w' = to own the lock or 'r' = to read it, label), and one of holders, each as four items ('w' or 'r',
--         number, us until the lease ends, label)
local key, other, arrives, most = KEYS[1], KEYS[2], false, tonumber(ARGV[1])
-- include: look.lua
local bytes, who_waits, holders = 200000, {}, {}
for _, each in ipairs(many > 0 and most > 0 and redis.call('ZRANGE', queue, '0', most - 1) or {}) do
  local attempt = string.sub(each, 2)
  local its_place = redis.pcall('HGET', waiters, attempt)
  local contact, its = string.match(type(its_place) == 'string' and its_place or '', '^(%d+) %d+ (.*)$')
  bytes = bytes - 48 - #(its or '')
  if contact and bytes > 0 then
    who_waits[#who_waits + 1] = math.max(now - contact, 0)
    who_waits[#who_waits + 1] = string.sub(each, 1, 1) == 'r' and 'r' or 'w'
    who_waits[#who_waits + 1] = its
  end
end
if owned and not foreign and (ARGV[2] == '' or ARGV[2] == f[3]) then
  holders = {'w', tonumber(f[3]), ends - now, f[5] or ''}
end
local of, whose = {}, nil
if read > 0 and not hidden and ARGV[2] == '' then
  of = redis.call('ZRANGE', readers, '(' .. clock, '+inf', 'BYSCORE', 'LIMIT', '0', most)
elseif read > 0 and not hidden then
  local which = ARGV[2]
  -- include: find_reader.lua
  of = {whose}
end
for _, each in ipairs(of) do
  local its = redis.call('HMGET', notes, each, each .. ':label')
  bytes = bytes - 64 - #(its[2] or '')
  if #holders >= 4 * most or bytes < 0 then break end
  if its[1] then
    local n = #holders
    holders[n + 1], holders[n + 2] = 'r', tonumber(its[1])
    holders[n + 3], holders[n + 4] = redis.call('ZSCORE', readers, each) - now, its[2] or ''
  end
end
-- include: holder.lua
if foreign then its_label = 'redisson ' .. foreign end
return {left > 0 and 'held' or 'free', now, left, 0, number, many, its_label, mode, last, who_waits, holders}
