-- SPDX-License-Identifier: MIT
-- Who holds a lock.
--
-- KEYS  as of acquire.lua    ARGV  1 'write' = the name is no client's, and the caller wants to know whether a lock could
--       be written: what keeps the server from that is answered in the server's own words
-- @return {'held' or 'free', now, ...}: see part/holder.lua; a hold of Redisson has the label "redisson <whose>"
local key, other = KEYS[1], KEYS[2]
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local f = redis.call('HMGET', key, 'owner', 'ends', 'number', 'label', 'crowd')
local ends, last = tonumber(f[2] or 0), tonumber(f[3] or 0)
local owned, arrives = ends > now, false
if ARGV[1] == 'write' then
  -- Each command by which a lock is written. The field goes whatever was refused, since a key without a time to live
  -- would stay; and a client that holds the name after all keeps the key for as long as before.
  redis.call('HSET', key, '-', '0')
  local left = redis.pcall('PTTL', key)
  local lives = type(left) == 'number' and left > 0 and left or 1000
  local side = key .. ':check'
  local refused
  for _, command in ipairs({{'HINCRBY', key, '-', '1'}, {'PTTL', key}, {'PEXPIRE', key, lives},
    {'ZADD', side, '1', '-'}, {'ZRANGE', side, '0', '0'}, {'ZREM', side, '-'}, {'HDEL', key, '-'}}) do
    local said = redis.pcall(unpack(command))
    if type(said) == 'table' and said.err then refused = refused or command end
  end
  if refused then -- once more, since the words of an error that was caught differ from version to version
    redis.call(unpack(refused))
    redis.call('HDEL', key, '-')
  end
end
-- include: open.lua
-- include: holder.lua
if foreign then its_label = 'redisson ' .. foreign end
return {left > 0 and 'held' or 'free', now, left, 0, number, many, its_label, mode, last}
