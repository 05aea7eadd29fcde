-- SPDX-License-Identifier: MIT
-- What nearly always happens: the hold stands, nobody is interested, and nothing comes late.
-- Whether the lease has run out is not asked: whether it had for its owner, its own clock has told
-- it before.
if string.sub(ARGV[2], 2, 2) == '0' then
  local f = redis.call('HMGET', KEYS[1], 'o', 'g', 'i', 'x', 's')
  local a = ARGV[1]
  local ours = f[1] == a or (f[1] and string.sub(a, -1) == ' ' and string.sub(f[1], 1, #a) == a)
  if ours and f[2] and not f[3] and not f[4] and (tonumber(f[5]) or 0) <= tonumber(ARGV[3]) then
    redis.call('HDEL', KEYS[1], 'g')
    return 'F'
  end
end
