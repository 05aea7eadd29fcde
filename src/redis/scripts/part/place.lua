-- SPDX-License-Identifier: MIT
-- Reads the place of a waiter. A waiter that was silent for 3 s has none. A grant that it gets without asking lasts 2 s
-- at most; its first renewal prolongs it.
--
-- Before: now; its_place: the waiter's field of `waiters`, or an error. After: contact (nil = it has no place),
-- its_lease in ms, its_label.
contact, its_lease, its_label = string.match(type(its_place) == 'string' and its_place or '', '^(%d+) (%d+) (.*)$')
if contact and now - contact > 3000000 then contact = nil end
if contact and its_lease + 0 > 2000 then its_lease = '2000' end
