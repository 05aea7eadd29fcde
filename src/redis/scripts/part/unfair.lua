-- SPDX-License-Identifier: MIT
-- Decides who has the next chance at a lock that was just released, if clients outside the queue may take it too.
--
-- Before: all of open.lua, order; state: see ARGV 4 of release.lua. After: order; notify_only: the first waiter only
-- gets a message to ask; is_reserved: the lock is free, and reserved for Redisson.
if order == 'unfair' and waiter_count > 0 then
  -- Newcomers may be quicker than the first waiter, which only gets a message to ask. Each sixteenth release gives the
  -- lock to the first waiter.
  notify_only = call('HINCRBY', key, 'releases', '1') % 16 ~= 0
  order = notify_only and 'unfair' or 'fair'
elseif redisson_key then
  -- Redisson's waiters are in no queue, and need 0.6 ms from the message to their try. So the lock is reserved for them
  -- if one of them subscribes. A thread of Redisson that tries without a subscription gets its chance at each sixteenth
  -- release. (With 4 ms in place of 1.5 ms, Redisson's share of holds of 1 ms was three times that of Mortise.)
  local receivers = redis.pcall('PUBLISH', 'redisson_lock__channel:{' .. redisson_key .. '}', '0')
  receivers = type(receivers) == 'number' and receivers or 0
  -- Above, the first waiter gets the lock at each sixteenth release. Here it gets the lock at the fifteen others,
  -- unless the lock is reserved.
  notify_only = waiter_count > 0 and call('HINCRBY', key, 'releases', '1') % 16 == 0
  -- Not counted: the first waiter of Mortise, and the client that releases the lock.
  if waiter_count > 0 and redisson_listener and call('HEXISTS', waiters, redisson_listener) == 1 then
    receivers = receivers - 1
  end
  if state == 'listening' then receivers = receivers - 1 end
  if receivers > 0 then
    is_reserved, notify_only = true, true
    call('HSET', key, 'reserved_until', string.format('%.0f', now + 1500))
  end
end
