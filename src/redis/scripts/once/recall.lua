-- SPDX-License-Identifier: MIT
-- Returns what is remembered of a key, and can forget it. It forgets the record that a look has found, and no later
-- one. So a copy that arrives late does not forget a record that the key got since.
--
-- KEYS  1 the key
-- ARGV  1 the grant number (fifth item) in the reply to that look; '' = it only looks
-- @return {'recorded', now, state, run, number, held, fingerprint, result}, as it was found, whether it is forgotten
--         now or not. The state is 'absent', 'pending', 'succeeded' or 'failed'. If the number is another one, or the
--         key is held, nothing is forgotten
local call, key = redis.call, KEYS[1]
-- include: fields.lua
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
local lease, grant, run, fingerprint, forget_at, outcome, outcome_grant, undone_grant = unpack(call('HMGET', key, LEASE,
  GRANT, 'run', 'fingerprint', 'forget_at', 'outcome', 'outcome_grant', 'undone_grant'))
local held = lease and grant + lease * 1000 > now
if not run or not (held or tonumber(forget_at) > now) then
  return {'recorded', now, 'absent', 0, 0, held and 1 or 0, '', ''}
end
local state = outcome == 'Y' and 'succeeded' or 'failed'
if outcome_grant ~= grant and undone_grant ~= grant then state = 'pending' end
local its_grant = state == 'pending' and grant or outcome_grant
local result = state ~= 'pending' and call('HGET', key, 'result') or ''
if ARGV[1] == its_grant and not held then
  call('HDEL', key, OWNER, LEASE, LABEL, 'run', 'fingerprint', 'forget_at')
  call('HDEL', key, 'outcome', 'outcome_grant', 'undone_grant', 'outcome_run', 'outcome_forget_at', 'result')
end
return {'recorded', now, state, run + 0, its_grant + 0, held and 1 or 0, fingerprint, result}
