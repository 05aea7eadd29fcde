-- SPDX-License-Identifier: MIT
-- Reports the holder of a lock.
--
-- KEYS  as of acquire.lua    ARGV  1 'write' = no client uses the name, and the caller checks whether the server
--       accepts the commands that write a lock. If it does not, the reply is the server's own error
-- @return {'held' or 'free', now, ...}: see part/holder.lua; a hold of Redisson has the label "redisson <owner>"
local key, other, arrives = KEYS[1], KEYS[2], false
if ARGV[1] == 'write' then
  -- Tries each command that writes a lock. HDEL removes the field even if the server refused one of them, since a key
  -- without a time to live would stay. If a client holds the name after all, its key keeps its time to live.
  redis.call('HSET', key, '-', '0')
  local left = redis.pcall('PTTL', key)
  local lives = string.format('%.0f', type(left) == 'number' and left > 0 and left or 1000)
  local side = key .. ':check'
  local refused
  for _, command in ipairs({{'HINCRBY', key, '-', '1'}, {'PTTL', key}, {'PEXPIRE', key, lives},
    {'ZADD', side, '1', '-'}, {'ZRANGE', side, '0', '0'}, {'ZREM', side, '-'}, {'HDEL', key, '-'}}) do
    local said = redis.pcall(unpack(command))
    if type(said) == 'table' and said.err then refused = refused or command end
  end
  if refused then -- once more, uncaught: the text of a caught error depends on the server's version
    redis.call(unpack(refused))
    redis.call('HDEL', key, '-')
  end
end
-- include: look.lua
-- include: holder.lua
if foreign then its_label = 'redisson ' .. foreign end
return {left > 0 and 'held' or 'free', now, left, 0, number, many, its_label, mode, last}
