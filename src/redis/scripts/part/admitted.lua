-- SPDX-License-Identifier: MIT
-- After new readers it writes into the hash until when clients read (readers_until) and the largest number (max_grant,
-- or GRANT if no attempt owns the lock), and removes readers whose lease is over, 64 at a time. If no client reads or
-- waits any more, it removes readers_until and max_grant.
--
-- Before: all of hand_over.lua; new_readers_end: when the last lease of a new reader ends; 0 = there is no new reader.
if new_readers_end > 0 then
  readers_end = math.max(new_readers_end, readers_end)
  if is_owned then
    call('HSET', key, 'max_grant', string.format('%.0f', max_grant), 'readers_until',
      string.format('%.0f', readers_end))
  else
    grant = string.format('%.0f', max_grant)
    call('HSET', key, GRANT, grant, 'readers_until', string.format('%.0f', readers_end))
    call('HDEL', key, LEASE, 'max_grant')
  end
  -- A reader that released its hold has minus the time of that in `readers`, so it is not among these.
  local expired = call('ZRANGE', readers, '1', clock, 'BYSCORE', 'LIMIT', '0', '64')
  for _, attempt in ipairs(expired) do
    call('ZREM', readers, attempt)
    call('HDEL', reader_info, attempt, attempt .. ':label')
  end
  local new_ttl = ttl + math.max(0, math.ceil((max_grant - now) / 1000))
  for _, each in ipairs({key, readers, reader_info}) do
    if call('PTTL', each) < new_ttl then call('PEXPIRE', each, string.format('%.0f', new_ttl)) end
  end
elseif saw_all and readers_until and reader_count == 0 and waiter_count == 0 and not queue_elsewhere and
  max_grant == tonumber(grant or 0) then
  -- No client waits or reads: the next one takes the lock without a look at the other keys. But if a reader beside the
  -- last owner got a larger number, `max_grant` keeps it: GRANT stays as it is, so that a repeated release of that
  -- owner finds its hold.
  call('HDEL', key, 'readers_until', 'max_grant')
  readers_until, readers_end = false, 0
end
