// SPDX-License-Identifier: MIT
// All that descends from the calling process, found by /proc: also what has left its process group
// or session. The caller must be a subreaper (PR_SET_CHILD_SUBREAPER), so that nothing leaves the
// tree by the death of its parent.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <vector>

namespace mortise::tool {

class Offspring {
 public:
  /// Whatever descends from the children that there are now is left alone from now on: a shell that
  /// has become this program by exec() may have had jobs.
  Offspring();
  /// @return how many were alive and got the signal, or may not be sent it; 0: none are left
  std::size_t signal(int number) const;
  /// KILL until none is left, and reaps them. First to that group, a child's: whoever forks faster
  /// than it can be found is ended by that alone.
  void kill_all(pid_t group) const;

 private:
  std::vector<pid_t> strangers_;
};

}  // namespace mortise::tool
