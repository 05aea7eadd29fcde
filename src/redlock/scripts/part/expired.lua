-- SPDX-License-Identifier: MIT
-- Forgets the readers whose leases are over.
-- Before: key, now.
for _, each in ipairs(redis.call('ZRANGE', key .. ':readers', 1, string.format('%.0f', now), 'BYSCORE')) do
  redis.call('ZREM', key .. ':readers', each)
  redis.call('HDEL', key .. ':reader_info', each, each .. ':step', each .. ':label')
end
