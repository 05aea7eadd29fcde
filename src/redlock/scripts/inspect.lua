-- SPDX-License-Identifier: MIT
-- Who has this server's vote.
--
-- KEYS  1 the lock
-- ARGV  1 'who' = names each hold, for an administrator, who ends it as its own client would. 'write' = the name is no
--         client's, and the caller wants to know whether a vote could be written
-- @return {'held' or 'free', now, ...}: see part/holders.lua; with 'who' behind the mode
--         {attempt, number, step, label, ...}
local key = KEYS[1]
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local f = redis.call('HMGET', key, 'owner', 'ends', 'grant', 'max_grant', 'label', 'has_others', 'step')
if ARGV[1] == 'write' then
  redis.call('HSET', key, '-', '')
  -- A name that is a client's after all keeps its time to live.
  local refused = not f[1] and not f[6] and redis.pcall('PEXPIRE', key, 1000)
  redis.call('HDEL', key, '-')
  if type(refused) == 'table' then return refused end
end
local owned = f[2] and tonumber(f[2]) > now
local queue, contacts, waiting, notified, read = key .. ':queue', key .. ':contacts', {}, {}, false
if f[6] then
  -- include: waiting.lua
end
-- include: holders.lua
local answer = {(owned or read) and 'held' or 'free', now, left, #waiting, label, mode, unpack(numbers)}
if ARGV[1] == 'who' then
  local holds = owned and {f[1], f[3], f[7], f[5]} or {}
  for i, each in ipairs(ids) do
    if grants[i] then
      local more = redis.call('HMGET', key .. ':reader_info', each .. ':step', each .. ':label')
      for _, item in ipairs({each, grants[i], more[1], more[2] or ''}) do holds[#holds + 1] = item end
    end
  end
  table.insert(answer, 7, holds)
end
return answer
