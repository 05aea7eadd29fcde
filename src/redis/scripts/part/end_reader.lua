-- SPDX-License-Identifier: MIT
-- Ends the hold of a reader, if the attempt has the number that the release names.
--
-- The score of a reader in `readers` is the end of its lease. A reader that released its hold stays for a while, with
-- minus the time of its release as the score, so that a repeated release finds it.
--
-- Before: all of open.lua; holder: the attempt; its_grant: the number. After: outcome as of release.lua; reader_count,
-- readers_end.
local its_end = redis.pcall('HGET', reader_info, holder) == its_grant and redis.pcall('ZSCORE', readers, holder)
its_end = type(its_end) == 'string' and tonumber(its_end)
if readers_elsewhere and not its_end then return redis.error_reply('TRYAGAIN the readers are at another server') end
if its_end then
  outcome = its_end > now and 'released' or its_end > 0 and 'expired' or 'released_before'
  if its_end > now and not readers_elsewhere then reader_count = reader_count - 1 end
  call('HDEL', reader_info, holder .. ':label')
  if its_end > now then call('ZADD', readers, '-' .. clock, holder) end
  -- The last eight readers that released are remembered, until no client has read for a minute. The first score is the
  -- latest release.
  for i, attempt in ipairs(call('ZRANGE', readers, '-inf', '0', 'BYSCORE')) do
    if i > 8 then
      call('ZREM', readers, attempt)
      call('HDEL', reader_info, attempt)
    end
  end
  local latest = call('ZRANGE', readers, '-1', '-1', 'WITHSCORES')
  if not readers_elsewhere and readers_end > 0 then
    readers_end = reader_count > 0 and tonumber(latest[2]) or 0
    call('HSET', key, 'readers_until', string.format('%.0f', readers_end))
  end
  if reader_count == 0 then
    local new_ttl = math.min(60000, math.max(1, call('PTTL', key)))
    call('PEXPIRE', readers, new_ttl)
    call('PEXPIRE', reader_info, new_ttl)
  end
end
