-- SPDX-License-Identifier: MIT
-- What nearly always happens: the hold stands, and nobody is interested. Whether the lease has run
-- out is not asked: whether it had for its owner, his own clock has told him before.
if ARGV[2] == 'q0' then
  local f = redis.call('HMGET', KEYS[1], 'o', 'g', 'i')
  if f[1] == ARGV[1] and f[2] and not f[3] then
    redis.call('HDEL', KEYS[1], 'g')
    return 'F'
  end
end
