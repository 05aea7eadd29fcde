-- SPDX-License-Identifier: MIT
-- Tells who holds a lock at this server (O), or that nobody does (E).
--
-- ARGV  3 "w": the name is nobody's, and the caller wants to know whether a vote could be written, as that of a single
--         server does (src/redis/scripts/inspect.lua)
open(KEYS[1])
local refused
local function try(...)
  local answer = redis.pcall(...)
  if type(answer) == 'table' and answer.err then refused = refused or {...} end
end
if ARGV[3] == 'w' then
  redis.call('HSET', K, '-', '')
  -- A name that somebody holds after all keeps its time to live.
  if not owner then try('PEXPIRE', K, '1000') end
  try('HDEL', K, '-')
end
if refused then
  redis.call(unpack(refused))
  redis.call('HDEL', K, '-')
end
return occupied(held and 'O' or 'E')
