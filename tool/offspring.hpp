// SPDX-License-Identifier: MIT
// All descendants of the calling process, found in /proc, including those that have left its
// process group or session. The caller must be a subreaper (PR_SET_CHILD_SUBREAPER), so that no
// process leaves the tree when its parent dies.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <vector>

namespace mortise::tool {

class Offspring {
 public:
  /// The present children and their descendants are left alone from now on: a shell that has become
  /// this program by exec() may have had jobs.
  Offspring();
  /// @return how many were alive, even if this process may not signal them; 0: none are left
  std::size_t signal(int number) const;
  /// Sends KILL until none is left, and reaps them. The group of a child comes first: only that
  /// ends processes that fork faster than /proc can be read.
  void kill_all(pid_t group) const;

 private:
  std::vector<pid_t> strangers_;
};

}  // namespace mortise::tool
