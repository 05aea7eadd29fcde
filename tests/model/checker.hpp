// SPDX-License-Identifier: MIT
// Decides whether a recorded history of locks, exclusive and shared, with fencing tokens keeps
// exclusion and the order of tokens; the permits of semaphores are counted (counted.hpp). The
// answer is exact: it refuses a history if and only if no assignment of grant instants explains it,
// whatever remained unknown; and it names the two culprits.
//
// Definition. An acknowledged hold h (its acquisition returned ok) was granted at some instant g(h)
// with invoked(h) <= g(h) <= returned(h), and it ended at max(g(h), end(h)), where end(h) is the
// earliest of
//   - its release was sent: the invoke of a release whose outcome is not `fail`;
//   - its own deadline passed: the one set last, by the grant or a renewal, where it has one;
//   - its process was killed, where it has no deadline: max(signal sent, last event of the
//   process);
//   - its holder was told that it is lost.
// A history is good if every hold carries a token in [1, 2^63), exclusive ones one of their own,
// and every hold can be given a g(h) such that for any two holds a, b of one name of which at least
// one is exclusive
//       a is before b   implies   max(g(a), end(a)) <= g(b),                                  (1)
// where a is before b if token(a) < token(b), or if they are equal and b is the shared one. That is
// exclusion and the order of tokens at once: one after another, and in the tokens' order. Two
// shared holds say nothing of each other: readers of a process may have one token, and come at any
// time.
//
// What is unknown constrains nothing. An attempt that failed, whose outcome is unknown, or that
// never returned (its process was killed or stopped) need not have been granted; and leaving a hold
// out of an assignment that satisfies (1) leaves it satisfied, so the holds that may not exist
// cannot change the answer. A release that never answered may have been executed as soon as it was
// sent. A stopped holder without a release ends at its deadline; without a deadline it never ends.
//
// Why it is exact. In the order of tokens, let g(b) be the larger of invoked(b) and of
// max(g(a), end(a)) over all a before b that exclude it: no assignment has it earlier, by
// induction. If it is never beyond returned(b), it satisfies (1); if it is somewhere, nothing does.
// The two running maxima, over all holds and over the exclusive ones, are all that it takes: O(n
// log n) for the sort, O(n) for the rest. Where such a bound comes from is one hold's `reach`, the
// larger of invoked and end, and that hold and b are the culprits: they contradict each other by
// themselves, or, where both are shared, with the exclusive hold between them.
//
// Accepted writes to a protected resource are checked by the same argument: each took place at one
// instant of its window, and those instants must be orderable with tokens that never fall.
#pragma once

#include "model/history.hpp"
#include "model/holds.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace mortise::model {

enum class Fault : std::uint8_t {
  overlap,          // in neither order can the two holds have followed each other
  token_backwards,  // the later of the two holds has the smaller token
  token_repeated,   // two holds of a name, one token
  token_invalid,    // zero, or too large for a signed column
  too_many,         // more permits than there are
  stale_write,      // the resource accepted a smaller token after a larger one
  malformed,        // the events are no history, or some are missing: it proves nothing
};

const char* to_string(Fault fault) noexcept;

// `first` and `second` alone already contradict each other; `second` is the one that came too
// early for `first`, or has no business after it. Both empty where the fault is `malformed`.
struct Violation {
  Fault fault{};
  HoldRecord first;
  HoldRecord second;
  std::uint64_t between = 0;  // op of the exclusive hold that two shared ones contradict; or 0
  std::string sentence;
};

struct CheckOptions {
  // For the sentences: the text of name number i.
  std::vector<std::string> names = {};
  // How many permits each semaphore has.
  std::uint32_t permits = 0;
  // For faults that break what the server acknowledged (a restart without persistence, a fail-over,
  // a deleted key): a hold that ended by loss, or of which its release does not know, may have
  // ended as early as it was granted. Other holds, and the order of tokens, are checked as ever.
  bool loss_excuses = false;
  // How many violations are described. All are counted.
  std::size_t describe = 16;
};

struct Report {
  Counts counts;
  std::uint64_t faults = 0;
  std::vector<Violation> violations;

  bool ok() const noexcept { return faults == 0; }
  bool has(Fault fault) const noexcept;
  // One line of figures, and a line for each violation described.
  std::string text() const;
};

Report check(std::span<const Event> events, const CheckOptions& options = {});

// The same, and refuses a file that turned events away.
Report check(const HistoryFile& history, const CheckOptions& options = {});

}  // namespace mortise::model
