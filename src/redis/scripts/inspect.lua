-- SPDX-License-Identifier: MIT
-- Reports the holder of a lock.
--
-- KEYS  as of acquire.lua    ARGV  1 'write' = the script also tries the commands that write a lock. The caller
--       promises that no client uses the name. If the server refuses a command, the reply is the server's own error
-- @return {'held' or 'free', now, ...}: see part/holder.lua. A hold of Redisson has the label "redisson <owner>"
local call, key, redisson_key, importing = redis.call, KEYS[1], KEYS[2], false
-- include: fields.lua
if ARGV[1] == 'write' then
  -- Tries each command that writes a lock. HSET is the first: later writes are accepted even if memory is short. Each
  -- other command that adds something follows the one that removes it, so nothing stays if the server refuses a
  -- command.
  local side = key .. ':check'
  call('HSET', key, '-', '0')
  for _, command in ipairs({{'HDEL', key, '-'}, {'ZREM', side, '-'}, {'ZRANGE', side, '0', '0'}, {'PTTL', side},
    {'PEXPIRE', side, '1000'}, {'HINCRBY', key, '-', '1'}, {'HDEL', key, '-'}, {'ZADD', side, '1', '-'},
    {'ZREM', side, '-'}}) do
    local reply = redis.pcall(unpack(command))
    if type(reply) == 'table' and reply.err then
      -- If HDEL is refused, the field stays. A key that this script made has no time to live, so it gets one of 1 s.
      -- The key of a client has one, and keeps it.
      if command[1] == 'HDEL' and redis.pcall('PTTL', key) == -1 then redis.pcall('PEXPIRE', key, '1000') end
      call(unpack(command)) -- once more, uncaught: the text of a caught error depends on the server's version
    end
  end
end
-- include: look.lua
-- include: holder.lua
if redisson_owner then held_label = 'redisson ' .. redisson_owner end
return {left > 0 and 'held' or 'free', now, left, 0, held_grant, waiter_count, held_label, held_mode,
  max_grant}
