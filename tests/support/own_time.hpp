// SPDX-License-Identifier: MIT
// The time that a call takes by its own doing. On a machine that has other things to do, a thread
// that is ready to run waits for a processor, and a bound of milliseconds would judge the machine.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <map>

namespace mortise::test {

/// The time that a call takes.
template <class Callable>
[[nodiscard]] std::chrono::nanoseconds duration_of(Callable call) {
  const auto began = std::chrono::steady_clock::now();
  call();
  return std::chrono::steady_clock::now() - began;
}

/// The least time of several runs: what is left when other programs are out of the way. A promise
/// "at most this long" that is broken is broken in every run. Ends as soon as one run was good
/// enough.
template <class Callable>
[[nodiscard]] std::chrono::nanoseconds best_of(int runs, std::chrono::nanoseconds good_enough,
                                               Callable call) {
  std::chrono::nanoseconds best = std::chrono::nanoseconds::max();
  for (int run = 0; run < runs && best > good_enough; ++run) {
    best = std::min<std::chrono::nanoseconds>(best, call());
  }
  return best;
}

/// How long each thread was ready to run so far, while the machine ran something else. Empty if the
/// kernel does not count it.
struct Waits {
  using Threads = std::map<pid_t, std::chrono::nanoseconds>;
  Threads own;  ///< of this process
  std::map<pid_t, Threads>
      servers;  ///< of each program that this process started, and of its children
};
[[nodiscard]] Waits waits_for_processors();
/// From now on the servers that this program's parent started count as well. For a program that a
/// test starts with the test's servers.
void count_servers_of_parent() noexcept;

/// @return how long the longest waiting thread of this process and of each server waited between
/// the two moments, in sum: a request goes from one to the next, so they wait one after the other.
/// The calling thread is not among them.
[[nodiscard]] std::chrono::nanoseconds waited_between(const Waits& before, const Waits& after);

/// A moment, and how long the calling thread had waited by then.
struct Moment {
  std::chrono::steady_clock::time_point at;
  std::chrono::nanoseconds waited;
};
[[nodiscard]] Moment this_moment();

/// The time that a call takes, without the time that this process and its servers waited for a
/// processor. On an idle machine these waits are nothing, so an upper bound stays strict. Only for
/// upper bounds.
template <class Callable>
[[nodiscard]] std::chrono::nanoseconds own_duration_of(Callable call) {
  const Waits before = waits_for_processors();
  const Moment began = this_moment();
  call();
  const Moment ended = this_moment();
  const std::chrono::nanoseconds took = ended.at - began.at;
  const std::chrono::nanoseconds waited =
      ended.waited - began.waited + waited_between(before, waits_for_processors());
  return std::max(took - waited, std::chrono::nanoseconds(0));
}

/// The least of several runs, for a call that may be repeated as it is. Ends as soon as one run was
/// good enough.
template <class Callable>
[[nodiscard]] std::chrono::nanoseconds least_duration_of(std::chrono::nanoseconds good_enough,
                                                         Callable call) {
  return best_of(5, good_enough - std::chrono::nanoseconds(1),
                 [&] { return own_duration_of(call); });
}

/// A time limit that counts as `own_duration_of()` does: the time that the machine made this
/// process and its servers wait is added to it.
class OwnTimeLimit {
 public:
  /// @param at_most when the time is up although the machine made everything wait
  OwnTimeLimit(std::chrono::nanoseconds limit, std::chrono::nanoseconds at_most);
  /// @return whether the time is up. If it is not, `until()` is later than now.
  [[nodiscard]] bool is_over();
  [[nodiscard]] std::chrono::steady_clock::time_point until() const noexcept { return until_; }

 private:
  Waits before_;
  Moment began_;
  std::chrono::nanoseconds limit_;
  std::chrono::nanoseconds at_most_;
  std::chrono::steady_clock::time_point until_;
};

}  // namespace mortise::test
