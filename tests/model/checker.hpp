// SPDX-License-Identifier: MIT
// Decides whether a recorded history of exclusive locks with fencing tokens keeps mutual exclusion
// and the order of tokens. The answer is exact: it refuses a history if and only if no assignment
// of grant instants explains it, whatever remained unknown; and it names the two culprits.
//
// Definition. An acknowledged hold h (its acquisition returned ok) was granted at some instant g(h)
// with invoked(h) <= g(h) <= returned(h), and it ended at max(g(h), end(h)), where end(h) is the
// earliest of
//   - its release was sent: the invoke of a release whose outcome is not `fail`;
//   - its own deadline passed: the one set last, by the grant or a renewal, where it has one;
//   - its process was killed, where it has no deadline: max(signal sent, last event of the
//   process);
//   - its holder was told that it is lost.
// A history is good if every hold of a name carries a token of its own, in [1, 2^63), and every
// hold can be given a g(h) such that for any two holds a, b of one name
//       token(a) < token(b)   implies   max(g(a), end(a)) <= g(b).                            (1)
// That is exclusion and the order of tokens at once: one after another, and in the tokens' order.
//
// What is unknown constrains nothing. An attempt that failed, whose outcome is unknown, or that
// never returned (its process was killed or stopped) need not have been granted; and leaving a hold
// out of an assignment that satisfies (1) leaves it satisfied, so the holds that may not exist
// cannot change the answer. A release that never answered may have been executed as soon as it was
// sent. A stopped holder without a release ends at its deadline; without a deadline it never ends.
//
// Why it is exact. Let reach(a) = max(invoked(a), end(a)): no assignment can end a before that. So
// token(a) < token(b) and reach(a) > returned(b) contradicts (1) in every assignment. Conversely,
// if no such pair exists, let g(b) be the larger of invoked(b) and of reach(a) over all a with
// smaller tokens: it lies in [invoked(b), returned(b)], and g and end of all smaller ones are below
// it, which is (1). Hence a bad history always has a bad pair, and the running maximum of reach, in
// the order of tokens, meets it: O(n log n) for the sort, O(n) for the rest.
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
  std::string sentence;
};

struct CheckOptions {
  // For the sentences: the text of name number i.
  std::vector<std::string> names = {};
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
