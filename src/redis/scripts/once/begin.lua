-- SPDX-License-Identifier: MIT
-- Begins a run of a key, joins its queue, or tells what is remembered. Safe to repeat under the attempt's id, and
-- deaf to late copies, as acquire.lua.
--
-- ARGV  1 attempt    2 mode; '1' = older copies may be on their way; '1' = wait    3 epoch of the connection
--       4 lease in ms    5 what is asked: see record.lua
--       6 the number of the conclusion that it was told of while it waited; none = of no one
-- @return as acquire.lua, a grant with the number of the run behind; or "D ...", what is remembered: without its bytes
--         where that is of another fingerprint. Then the attempt has no effect, and is not queued
open(KEYS[1])
local me, asked = ARGV[1], ARGV[5]
if is_late(me, ARGV[3]) then return 'R' end
if string.sub(ARGV[2], 2, 2) == '1' then refuse_copies(me, ARGV[3]) end
if not held or owner ~= me then
  local answer
  local its = verdict(asked)
  if its ~= 'run' then answer = record(its == 'replay') end
  if ARGV[6] and its == 'run' then answer = told(ARGV[6], asked) end
  if answer then
    exhume()
    local w = waiting > 0 and waiter(me)
    if w then
      dequeue(me, w.ticket)
      count()
    end
    tell_answered()
    settle()
    return answer
  end
  tell_answered(me)
end
return take(me, string.sub(ARGV[2], 3, 3) == '1', tonumber(ARGV[4]), asked)
