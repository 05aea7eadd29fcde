// SPDX-License-Identifier: MIT
// Scripts that cost a server what Redisson's cost it: the same commands in the same order, in our
// own text. Redisson (github.com/redisson/redisson, Apache-2.0) has them in RedissonLock and
// RedissonBaseLock (tryLockInnerAsync, unlockInnerAsync, renewExpirationAsync; version 4). That
// lock has no queue, so the acts of a waiter are those of RedissonFairLock (also
// acquireFailedAsync; commit 026da22).
#pragma once

#include <string_view>

namespace mortise::bench::redisson {

/// KEYS: the name. ARGV: lease in ms, owner.
constexpr std::string_view lock = R"lua(
local name, lease, owner = KEYS[1], ARGV[1], ARGV[2]
if redis.call('exists', name) == 0 or redis.call('hexists', name, owner) == 1 then
  redis.call('hincrby', name, owner, 1)
  redis.call('pexpire', name, lease)
  return nil
end
return redis.call('pttl', name))lua";

/// KEYS: the name. ARGV: lease in ms, owner.
constexpr std::string_view renew = R"lua(
if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then return 0 end
redis.call('pexpire', KEYS[1], ARGV[1])
return 1)lua";

/// KEYS: the name, its channel, the result for a repeated call. ARGV: message, lease in ms, owner,
/// command that publishes, lifetime of the result.
constexpr std::string_view unlock = R"lua(
local name, result, owner = KEYS[1], KEYS[3], ARGV[3]
local known = redis.call('get', result)
if known ~= false then return tonumber(known) end
if redis.call('hexists', name, owner) == 0 then return nil end
local holds = redis.call('hincrby', name, owner, -1)
if holds > 0 then
  redis.call('pexpire', name, ARGV[2])
  redis.call('set', result, 0, 'px', ARGV[5])
  return 0
end
redis.call('del', name)
redis.call(ARGV[4], KEYS[2], ARGV[1])
redis.call('set', result, 1, 'px', ARGV[5])
return 1)lua";

/// KEYS: the name, its queue, when its waiters time out. ARGV: lease in ms, owner, how long a
/// waiter may wait, now.
constexpr std::string_view fair_lock = R"lua(
local name, queue, timeouts = KEYS[1], KEYS[2], KEYS[3]
local lease, owner, wait, now = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
while true do
  local first = redis.call('lindex', queue, 0)
  if first == false or tonumber(redis.call('zscore', timeouts, first)) > now then break end
  redis.call('zrem', timeouts, first)
  redis.call('lpop', queue)
end
if redis.call('exists', name) == 0 and
    (redis.call('exists', queue) == 0 or redis.call('lindex', queue, 0) == owner) then
  redis.call('lpop', queue)
  redis.call('zrem', timeouts, owner)
  for _, waiter in ipairs(redis.call('zrange', timeouts, 0, -1)) do
    redis.call('zincrby', timeouts, -wait, waiter)
  end
  redis.call('hset', name, owner, 1)
  redis.call('pexpire', name, lease)
  return nil
end
if redis.call('hexists', name, owner) == 1 then
  redis.call('hincrby', name, owner, 1)
  redis.call('pexpire', name, lease)
  return nil
end
while true do
  local first = redis.call('lindex', queue, 0)
  if first == false or first == owner then break end
  local alive = tonumber(redis.call('zscore', timeouts, first)) > now
  if not (alive and redis.call('exists', name) == 0) then break end
  redis.call('lpop', queue)
  redis.call('zrem', timeouts, first)
end
local timeout = redis.call('zscore', timeouts, owner)
if timeout ~= false then return timeout - wait - now end
local last, left = redis.call('lindex', queue, -1), nil
if last ~= false and last ~= owner then
  left = tonumber(redis.call('zscore', timeouts, last)) - now
else
  left = redis.call('pttl', name)
end
if redis.call('zadd', timeouts, left + wait + now, owner) == 1 then redis.call('rpush', queue, owner) end
return left)lua";

/// KEYS: the queue, when its waiters time out. ARGV: owner, how long a waiter may wait.
constexpr std::string_view fair_cancel = R"lua(
local found = false
for _, waiter in ipairs(redis.call('lrange', KEYS[1], 0, -1)) do
  if found then redis.call('zincrby', KEYS[2], -tonumber(ARGV[2]), waiter) end
  if waiter == ARGV[1] then found = true end
end
redis.call('zrem', KEYS[2], ARGV[1])
redis.call('lrem', KEYS[1], 0, ARGV[1]))lua";

/// KEYS: the name, its queue, when its waiters time out, its channel. ARGV: message, lease in ms,
/// owner, now.
constexpr std::string_view fair_unlock = R"lua(
local name, queue, timeouts, owner = KEYS[1], KEYS[2], KEYS[3], ARGV[3]
while true do
  local first = redis.call('lindex', queue, 0)
  if first == false or tonumber(redis.call('zscore', timeouts, first)) > tonumber(ARGV[4]) then break end
  redis.call('zrem', timeouts, first)
  redis.call('lpop', queue)
end
local function wake()
  local next = redis.call('lindex', queue, 0)
  if next ~= false then redis.call('publish', KEYS[4] .. ':' .. next, ARGV[1]) end
  return 1
end
if redis.call('exists', name) == 0 then return wake() end
if redis.call('hexists', name, owner) == 0 then return nil end
if redis.call('hincrby', name, owner, -1) > 0 then
  redis.call('pexpire', name, ARGV[2])
  return 0
end
redis.call('del', name)
return wake())lua";

}  // namespace mortise::bench::redisson
