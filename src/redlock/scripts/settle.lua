-- SPDX-License-Identifier: MIT
-- Gives a vote the number that its client found to be the largest of a majority. The largest number that this server
-- gave stays the least for a later vote. If that one is larger, another client may have been granted as much in
-- between, so this server is no witness for the number of an owner. It is one for a reader: only other readers, or
-- holds before this vote, got a larger number here. Safe to repeat.
--
-- KEYS  1 the lock
-- ARGV  1 attempt    2 the step in which it got the vote    3 number
-- @return {'vote', now, number}, {'higher', now}: it gave more, {'not_held', now}: the attempt does not have this vote
local key, me, number = KEYS[1], ARGV[1], tonumber(ARGV[3])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local f = redis.call('HMGET', key, 'owner', 'ends', 'grant', 'max_grant', 'step', 'has_others')
local max_grant = math.max(tonumber(f[3] or 0), tonumber(f[4] or 0), number)
if f[1] == me and f[2] and tonumber(f[2]) > now then
  if f[5] ~= ARGV[2] then return {'not_held', now} end
  redis.call('HDEL', key, '-') -- is never refused; then Redis accepts the next write without memory, too
  redis.call('HSET', key, 'grant', ARGV[3], 'max_grant', string.format('%.0f', max_grant))
  if max_grant > number then return {'higher', now} end
  return {'vote', now, number}
end
if not f[6] or tonumber(redis.call('ZSCORE', key .. ':readers', me) or 0) <= now then return {'not_held', now} end
if redis.call('HGET', key .. ':reader_info', me .. ':step') ~= ARGV[2] then return {'not_held', now} end
redis.call('HDEL', key, '-')
redis.call('HSET', key .. ':reader_info', me, ARGV[3])
redis.call('HSET', key, 'max_grant', string.format('%.0f', max_grant))
return {'vote', now, number}
