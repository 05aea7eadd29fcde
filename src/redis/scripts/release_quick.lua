-- SPDX-License-Identifier: MIT
-- What nearly always happens: the hold stands and nobody waits. See acquire_quick.lua. The time is
-- not asked for: a hold that has lapsed, and that nobody came after, is given back as any other;
-- whether it had lapsed for its owner, his own clock has told him before.
if ARGV[2] ~= 'r' and ARGV[6] == '0' and ARGV[7] == '' then
  local f = redis.call('HMGET', KEYS[1], 'o', 'n', 'g', 'w')
  if f[1] == ARGV[3] and f[2] == ARGV[4] and f[3] and (not f[4] or f[4] == '0') then
    redis.call('HDEL', KEYS[1], 'g')
    return 'F'
  end
end
