// SPDX-License-Identifier: MIT
// Decides whether what callers were told of keys keeps the promises of `Once`. That one at a time
// runs a key, with tokens that grow, is not judged here: a run is a hold, and checker.hpp does it.
//
// A run is *known* from the moment on at which its runner learnt that its outcome is recorded, or
// anybody was told that outcome. Of a key that nobody forgets (kept for longer than the history
// lasts):
//   - what is told was said before, by the run that it is told of, in those bytes;
//   - one run at most is known to have succeeded (unless its callers repeat always), or to have
//     ended at all (where they never repeat), and no run with a larger token begins;
//   - a run is not known that was told that it had lost, or that said its outcome after a run with
//     a larger token had begun;
//   - who asks after such a run is known is told its outcome; who asks after any run has begun is
//     not told that there is nothing;
//   - numbers of runs grow with their tokens;
//   - another fingerprint, and no other, is refused.
// Each compares times of events that cannot be in that order unless the promise is broken, whatever
// was never answered: so what is reported is wrong for certain.
#pragma once

#include <mortise/key.hpp>

#include "model/keys_book.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace mortise::model {

enum class KeyFault : std::uint8_t {
  never_said,         // told what its run did not say, or other bytes
  second_outcome,     // a second run is known to have succeeded, or runs after that
  recorded_by_loser,  // known, although its runner had lost the key
  forgotten,          // told less than was known before it asked
  number_backwards,   // the later run has the smaller number, or the same
  wrong_request,      // refused without need, or not refused
  malformed,          // the events are no history, or some are missing: it proves nothing
};

const char* to_string(KeyFault fault) noexcept;

struct KeyViolation {
  KeyFault fault{};
  std::uint32_t key = 0;
  std::string sentence;
};

struct KeyReport {
  std::uint64_t keys = 0;
  std::uint64_t calls = 0;
  std::uint64_t runs = 0;
  std::uint64_t successes = 0;  // runs that are known to have succeeded
  std::uint64_t failures = 0;
  std::uint64_t losses = 0;    // conclusions of runners that had lost
  std::uint64_t in_doubt = 0;  // conclusions that nobody ever learnt of
  std::uint64_t told = 0;      // outcomes that were told to callers who did not run
  std::uint64_t refused = 0;   // other requests
  std::uint64_t faults = 0;
  std::vector<KeyViolation> violations;  // the first of them

  [[nodiscard]] bool ok() const noexcept { return faults == 0; }
  [[nodiscard]] bool has(KeyFault fault) const noexcept;
  [[nodiscard]] std::string text() const;
};

// `repeat_of`: how all callers of a key repeat it.
[[nodiscard]] KeyReport check_keys(std::span<const KeyEvent> events,
                                   const std::function<Repeat(std::uint32_t key)>& repeat_of);

// The same, and refuses a book that turned events away.
[[nodiscard]] KeyReport check_keys(const KeyBook& book,
                                   const std::function<Repeat(std::uint32_t key)>& repeat_of);

}  // namespace mortise::model
