// SPDX-License-Identifier: MIT
// The part of the checker that counts: decides whether the permits of a semaphore were ever more
// than there are, and whether their tokens grew with each grant.
//
// Definition. With g(h) and end(h) as in checker.hpp, the holds of a name are good if every g(h)
// can be chosen in [invoked(h), returned(h)] such that
//       token(a) < token(b)   implies   g(a) <= g(b),                                          (2)
// and at no instant t more than N holds have g(h) <= t < end(h).
//
// Why it is exact. Let late(h) be the smallest returned(x) over all x with token(x) >= token(h): by
// (2), no assignment has g(h) later. If late(h) < invoked(h), there is none. Otherwise `late`
// itself is one, and since a hold that was granted later is counted in fewer instants, no other one
// has fewer holds at any instant. So its maximum decides. O(n log n).
#pragma once

#include "model/holds.hpp"

#include <cstdint>
#include <functional>
#include <span>

namespace mortise::model {

struct CountedFaults {
  using Pair = std::function<void(const HoldRecord& first, const HoldRecord& second)>;

  Pair backwards;  // the second was granted after the first, and has the smaller token
  Pair too_many;   // when the second was granted, the first was one of N that others had
};

// `holds` are those of one name, with valid tokens, each larger than the one before.
void count_permits(std::span<const HoldRecord* const> holds, std::uint32_t permits,
                   const CountedFaults& faults);

}  // namespace mortise::model
