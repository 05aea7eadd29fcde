-- SPDX-License-Identifier: MIT
-- Which locks are held, which semaphores have a permit in use, or which keys are run: one page. Nothing is written, and no lock is kept from anybody for longer than a look at
-- as many keys takes, 4 us each. SCAN may tell a key more than once, and tells each that is there all the while.
--
-- ARGV  1 where to go on, "0" = at the beginning    3 what the keys look like, as a pattern    4 at how many keys of
--       the database to look    5 how long the prefix of ours is
-- @return where to go on ("0": this was the last page), then " <length> <key>" of each; READONLY where this server of a
--         cluster was a master, and is a replica by now
local BYTES = 131072 -- of one page: a reply of twice as much is refused by its reader

-- A server of a cluster reads no key that another one has: a replica has all of them, and its page would have no name.
-- Asked for its role, since Valkey 9 answers to a write there what a master to which a slot is on its way does: that the
-- key is not its own.
local function readonly(why)
  why = tostring(type(why) == 'table' and why.err or why)
  if not string.find(why, 'non local key', 1, true) then return nil end -- of a stranger's key
  local role = redis.pcall('INFO', 'replication')
  return type(role) == 'string' and string.find(role, 'role:slave', 1, true) and 'READONLY a replica has no names to tell'
end

-- A hold of a lock that Redisson knows of stands as long as Redisson's key does; and so does one of Redisson's own.
local replica
local function is_held(key)
  local opened, why = pcall(open, key)
  if not opened then
    replica = replica or readonly(why)
    return false
  end
  if MODE ~= 'r' then return held end
  local name = string.gsub(string.sub(key, ARGV[5] + 2, -2), '%%25', '%%')
  local readable, theirs_or_ours = pcall(is_lock, name)
  return (held and not keyed) or (readable and theirs_or_ours and redis.call('EXISTS', name) == 1)
end

local looks, at, page, bytes = tonumber(ARGV[4]), nil, nil, 0
repeat
  local found = redis.call('SCAN', ARGV[1], 'MATCH', ARGV[3], 'COUNT', looks)
  at, page, bytes = found[1], {found[1]}, 0
  for _, key in ipairs(found[2]) do
    if is_held(key) then
      page[#page + 1] = #key .. ' ' .. key
      bytes = bytes + #key
    end
  end
  looks = math.floor(looks / 4)
until bytes <= BYTES or looks < 1
if replica then return redis.error_reply(replica) end
return table.concat(page, ' ')
