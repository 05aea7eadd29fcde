-- SPDX-License-Identifier: MIT
-- Returns what is remembered of a key, and can forget it. It forgets the record that a look has found, and no later
-- one. So a copy that arrives late does not forget a record that the key got since.
--
-- KEYS  1 the key
-- ARGV  1 the grant number (fifth item) in the reply to that look; '' = it only looks
-- @return {'recorded', now, state, run, number, held, fingerprint, bytes}, as it was found. The state is 'absent',
--         'pending', 'succeeded' or 'failed'. If the number is another one, or the key is held, nothing is forgotten
local key = KEYS[1]
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local ms, number, run, print, till, outcome, outcome_of, stands = unpack(redis.call('HMGET', key, 'ms', 'number', 'run',
  'print', 'till', 'outcome', 'outcome_of', 'stands'))
local held = ms and number + ms * 1000 > now
if not run or not (held or tonumber(till) > now) then
  return {'recorded', now, 'absent', 0, 0, held and 1 or 0, '', ''}
end
local state = outcome_of ~= number and stands ~= number and 'pending' or outcome == 'Y' and 'succeeded' or 'failed'
local its_number = state == 'pending' and number or outcome_of
local result = state ~= 'pending' and redis.call('HGET', key, 'result') or ''
if ARGV[1] == its_number and not held then
  redis.call('HDEL', key, 'owner', 'ms', 'label', 'run', 'print', 'till')
  redis.call('HDEL', key, 'outcome', 'outcome_of', 'stands', 'outcome_run', 'outcome_till', 'result')
end
return {'recorded', now, state, run + 0, its_number + 0, held and 1 or 0, print, result}
