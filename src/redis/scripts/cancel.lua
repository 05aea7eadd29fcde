-- SPDX-License-Identifier: MIT
-- Takes an attempt back. The answer is that nothing of it is left, or that it owns the lock: then
-- it was too late. It leaves the queue before the lock is settled, so that it is not handed what it
-- does not want any more. Safe to repeat.
--
-- ARGV  1 attempt    2 mode; '1' = older copies may be on their way    3 epoch of the connection
open(KEYS[1], KEYS[2])
local w = waiting > 0 and waiter(ARGV[1])
if w then
  dequeue(ARGV[1], w.ticket)
  count()
  if tonumber(redis.call('HGET', K, 'h')) == w.ticket then
    -- The next one in the queue is its head now, and shall know that when it asks.
    local at, last = w.ticket + 1, w.ticket + LOOKS
    while waiting > 0 and at < last and not redis.call('HGET', K, place(at)) do
      at = at + 1
    end
    redis.call('HSET', K, 'h', digits(at))
  end
end
if string.sub(ARGV[2], 2, 2) == '1' then bury_older(ARGV[1], ARGV[3]) end
settle()
if held and owner == ARGV[1] then return granted() end
return occupied('B')
