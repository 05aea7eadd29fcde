-- SPDX-License-Identifier: MIT
-- Who has the vote. Of readers the eight smallest numbers are named, so that servers with different readers still name
-- a common one.
-- Before: key, now, f (owner, ends, grant, max_grant, label), owned, read.
-- After: left (us), label, mode ('w' = of an owner, 'r' = of readers), numbers (the holder's first), and ids,
-- grants: the readers and the number of each.
local left, label, mode, numbers, ids, grants = 0, '', 'w', {}, {}, {}
if owned then
  left, label, numbers[1] = f[2] - now, f[5], tonumber(f[3])
end
if read then
  local latest = redis.call('ZRANGE', key .. ':readers', -1, -1, 'WITHSCORES')
  left = math.max(left, latest[2] - now)
  ids = redis.call('ZRANGE', key .. ':readers', string.format('%.0f', now + 1), '+inf', 'BYSCORE')
  -- Lua passes fewer than 8,000 values to a function.
  for from = 1, #ids, 1000 do
    for _, its in ipairs(redis.call('HMGET', key .. ':reader_info', unpack(ids, from, math.min(from + 999, #ids)))) do
      grants[#grants + 1] = its
    end
  end
  local all, first = {}, nil
  for i, each in ipairs(ids) do
    local its = tonumber(grants[i] or nil)
    all[#all + 1] = its
    if its and (not first or its < first) then
      first = its
      if not owned then mode, label = 'r', each end
    end
  end
  if mode == 'r' then label = redis.call('HGET', key .. ':reader_info', label .. ':label') or '' end
  table.sort(all)
  for i = 1, math.min(8, #all) do numbers[#numbers + 1] = all[i] end
end
