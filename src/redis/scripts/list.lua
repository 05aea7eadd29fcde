-- SPDX-License-Identifier: MIT
-- Lists which locks are held, which semaphores have a permit in use, or which keys are run: one page. Other clients
-- wait for about 4 us for each key that the script looks at. SCAN returns each key that is there throughout, and some
-- twice.
--
-- ARGV  1 the cursor; '0' = at the beginning    2 what the keys look like, as a pattern    3 at how many keys of
--       the database to look    4 the length of the prefix with interop=redisson; '' = without
-- @return {next cursor, key...}; '0' = this was the last page. READONLY if this server of a cluster was a master,
--         and is a replica by now
-- include: fields.lua
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local looks, page, bytes, replica = tonumber(ARGV[3]), nil, nil, nil
repeat
  local found = redis.call('SCAN', ARGV[1], 'MATCH', ARGV[2], 'COUNT', looks)
  page, bytes = {found[1]}, 0
  for _, key in ipairs(found[2]) do
    local f = redis.pcall('HMGET', key, OWNER, LEASE, GRANT, 'readers_until', 'redisson_grant')
    local held = f[1] and f[2] and (tonumber(f[3]) or 0) + (tonumber(f[2]) or 0) * 1000 > now
    if f.err and string.find(f.err, 'non local key', 1, true) then
      -- A replica reads no key here, so its page would have no name. The script asks for the role, because the error of
      -- Valkey 9 is the same at a replica and at a master that the slot leaves.
      local role = redis.pcall('INFO', 'replication')
      replica = replica or (type(role) == 'string' and string.find(role, 'role:slave', 1, true))
    elseif not f.err and f[4] and not held then
      held = (tonumber(f[4]) or 0) > now
    end
    if ARGV[4] ~= '' and not f.err then
      -- A hold of Redisson lasts as long as Redisson's key. So does a hold of Mortise for which a script wrote that
      -- key. Of the three characters that a name has in another form, only % may be in a name with interop.
      local redisson_key = string.gsub(string.sub(key, ARGV[4] + 2, -2), '%%25', '%%')
      local size = redis.pcall('HLEN', redisson_key)
      local is_lock = type(size) == 'number' and size > 0 and size <= 64
      for _, each in ipairs(is_lock and redis.call('HKEYS', redisson_key) or {}) do
        is_lock = is_lock and (each == 'mode' or string.find(each, '^mortise:[%w_-]+$') or string.find(each,
          '^%x%x%x%x%x%x%x%x%-%x%x%x%x%-%x%x%x%x%-%x%x%x%x%-%x%x%x%x%x%x%x%x%x%x%x%x:%d+')) ~= nil
      end
      held = is_lock or (held and f[5] ~= f[3])
    end
    if held then
      page[#page + 1] = key
      bytes = bytes + #key
    end
  end
  -- If the page is too long, the script looks again from the same cursor, at a quarter of the keys.
  looks = math.floor(looks / 4)
until bytes <= 131072 or looks < 1 -- the client refuses a reply of twice as much
if replica then return redis.error_reply('READONLY a replica lists no names') end
return page
