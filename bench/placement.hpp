// SPDX-License-Identifier: MIT
// On which CPU each side of a case runs. Where they run decides a latency more than anything else:
// waking a sleeper on another CPU costs several times what a switch on the same one does.
#pragma once

#include <sched.h>

namespace mortise::bench {

enum class Mode {
  same,      ///< S: everything on one CPU
  crossed,   ///< X: the server, or the other side, on one CPU, the client on another
  unpinned,  ///< U: wherever the scheduler likes
};

enum class Side { client, server };

/// @return "S", "X" or "U".
[[nodiscard]] const char* letter(Mode mode) noexcept;
/// @return whether this process may use as many CPUs as the mode needs.
[[nodiscard]] bool possible(Mode mode) noexcept;
/// Places the calling thread, and with it every thread and process that it starts from now on.
void place(Mode mode, Side side);

/// Places the calling thread for a scope.
class Placed {
 public:
  Placed(Mode mode, Side side);
  Placed(const Placed&) = delete;
  Placed& operator=(const Placed&) = delete;
  ~Placed();

 private:
  cpu_set_t before_{};
};

}  // namespace mortise::bench
