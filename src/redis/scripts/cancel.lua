-- SPDX-License-Identifier: MIT
-- Takes an attempt back. The answer is that nothing of it is left, or that it owns the lock: then
-- it was too late. It leaves the queue before the lock is settled, so that it is not handed what it
-- does not want any more. Safe to repeat.
--
-- ARGV  1 attempt    2 mode; '1' = older copies may be on their way    3 epoch of the connection
open(KEYS[1], KEYS[2])
local w = waiting > 0 and waiter(ARGV[1])
local first -- whether it was the first of the queue
if w then
  dequeue(ARGV[1], w.ticket)
  count()
  if waiting <= 0 then
    redis.call('HDEL', K, 'h', 't')
  else
    local head = front() -- the next one in the queue, who shall know that when it asks
    local tail = tonumber(redis.call('HGET', K, 't')) or 0
    first = head > w.ticket
    if not first and w.ticket == tail - 1 then
      -- Who gives up is the last, as a rule: what is left of the queue shall not grow by each of them.
      local last = tail - 1
      while last > head and last > tail - LOOKS and not redis.call('HGET', K, place(last - 1)) do
        last = last - 1
      end
      redis.call('HSET', K, 't', digits(last))
    end
  end
end
if string.sub(ARGV[2], 2, 2) == '1' then refuse_copies(ARGV[1], ARGV[3]) end
settle()
local answer = its_grant(ARGV[1])
if answer then return answer end
-- Only the first hears Redisson's channel, and knows that the lock is kept: the next one is to know it, too.
if first and (foreign or kept) then tell_first() end
return occupied('B')
