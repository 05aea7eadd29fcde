// SPDX-License-Identifier: MIT
// The time that a call takes by its own doing. On a machine that has other things to do, a thread
// that is ready to run waits for a processor, and a bound of milliseconds would judge the machine.
#pragma once

#include "support/eventually.hpp"

#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <map>

namespace mortise::test {

/// For how long each thread of this process was ready to run so far, while the machine ran
/// something else. Empty where the kernel does not count it.
using Waits = std::map<pid_t, std::chrono::nanoseconds>;
[[nodiscard]] Waits waits_for_processors();

/// @return how long the calling thread waited between the two, and whichever other thread waited
/// longest: a caller and the thread that serves it wait one after the other.
[[nodiscard]] std::chrono::nanoseconds waited_between(const Waits& before, const Waits& after);

/// A moment, and what the threads had waited by then: the calling one waited no more in between.
struct Moment {
  std::chrono::steady_clock::time_point at;
  Waits waits;
};
[[nodiscard]] Moment this_moment();

/// The time that a call takes, without that for which it waited for a processor: on an idle machine
/// that is nothing, so an upper bound is as strict as ever. Only for upper bounds; the waits of
/// other processes, as of a server, are not known here and not taken off.
template <class Callable>
[[nodiscard]] std::chrono::nanoseconds own_duration_of(Callable call) {
  const Moment before = this_moment();
  call();
  const Moment after = this_moment();
  const std::chrono::nanoseconds took = after.at - before.at;
  return std::max(took - waited_between(before.waits, after.waits), std::chrono::nanoseconds(0));
}

/// The least of several runs, for a call that asks a server in a process of its own and may be
/// repeated as it is. Ends as soon as one run was good enough.
template <class Callable>
[[nodiscard]] std::chrono::nanoseconds least_duration_of(std::chrono::nanoseconds good_enough,
                                                         Callable call) {
  return best_of(5, good_enough - std::chrono::nanoseconds(1),
                 [&] { return own_duration_of(call); });
}

}  // namespace mortise::test
