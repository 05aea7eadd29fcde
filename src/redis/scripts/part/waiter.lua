-- SPDX-License-Identifier: MIT
-- Reads what is stored of a waiter. A waiter that sent no request for 3 s counts as gone: the script that includes this
-- removes it. If a waiter gets the lock by a message, the lease of that grant is 2 s at most. Its first renewal makes
-- it longer.
--
-- Before: now; stored: the waiter's field of the hash `waiters`, see join.lua, or an error.
-- After: contact: when it sent its last request (nil = it is gone); new_lease in ms, new_label.
contact, new_lease, new_label = string.match(type(stored) == 'string' and stored or '', '^(%d+) (%d+) (.*)$')
if contact and now - contact > 3000000 then contact = nil end
if contact and new_lease + 0 > 2000 then new_lease = '2000' end
