-- SPDX-License-Identifier: MIT
-- Tells who holds a lock (O), or that it is free (E).
--
-- ARGV  3 the number of a hold: where it is one of those who read, and of an owner beside them, of that one is told;
--         or "w": the name is nobody's, and the caller wants to know whether a lock could be written. What keeps the
--         server from that (too few replicas, no memory, a full disk, a permission) is answered in its own words.
open(KEYS[1], KEYS[2])
settle()
local refused -- the first command that was
local function try(...)
  local answer = redis.pcall(...)
  if type(answer) == 'table' and answer.err then refused = refused or {...} end
  return answer
end
if ARGV[3] == 'w' then
  -- Each command by which a lock is written. The first one is what a server refuses that takes no writes. The field
  -- goes whatever was refused, since a key without a time to live would stay; and a client that holds the name after
  -- all keeps the key for as long as before.
  redis.call('HSET', K, '-', '0')
  try('HINCRBY', K, '-', '1')
  local left = try('PTTL', K)
  try('PEXPIRE', K, type(left) == 'number' and left > 0 and digits(left) or '1000')
  try('HDEL', K, '-')
end
if refused then -- once more, since the words of an error that was caught differ from version to version
  redis.call(unpack(refused))
  redis.call('HDEL', K, '-')
end
local of_one = ARGV[3] and readers and held and told_of(tonumber(ARGV[3]))
return of_one or occupied(held and 'O' or 'E')
