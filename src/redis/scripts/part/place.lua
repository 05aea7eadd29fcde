-- SPDX-License-Identifier: MIT
-- Reads the place of a waiter. A waiter that has not asked for 3 s has no place: the script that includes this removes
-- it. If a waiter gets the lock by a message, the lease of that grant is 2 s at most. Its first renewal makes it
-- longer.
--
-- Before: now; its_place: the waiter's field of `waiters`, "<time of its last question> <lease> <label>", or an error.
-- After: contact: when it asked last (nil = it has no place); its_lease in ms; its_label.
contact, its_lease, its_label = string.match(type(its_place) == 'string' and its_place or '', '^(%d+) (%d+) (.*)$')
if contact and now - contact > 3000000 then contact = nil end
if contact and its_lease + 0 > 2000 then its_lease = '2000' end
