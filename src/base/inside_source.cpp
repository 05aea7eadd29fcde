// SPDX-License-Identifier: MIT
// Not inline: were every library to have a mark of its own, none would know of the others'.
#include "base/inside_source.hpp"

namespace mortise::base {

int& InsideSource::depth() noexcept {
  thread_local int calls = 0;
  return calls;
}

}  // namespace mortise::base
