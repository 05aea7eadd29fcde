// SPDX-License-Identifier: MIT
// A source that has moments only: nothing comes by it that a caller could await. So a backend whose
// pushes come on the connections of its replies may have one, and its callers read the pushes
// themselves all the same. Nothing depends on it, so it is not a part of the interface that a
// backend has to know.
#pragma once

#include <mortise/backend.hpp>

namespace mortise::base {

class TimerSource : public Source {
 public:
  [[nodiscard]] int descriptor() const noexcept final { return -1; }
  [[nodiscard]] short interest() const noexcept final { return 0; }
  [[nodiscard]] bool pushes() const noexcept final { return true; }
};

}  // namespace mortise::base
