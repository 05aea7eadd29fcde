// SPDX-License-Identifier: MIT
// How the public classes turn a failure into the exception that users see.
#pragma once

#include <mortise/error.hpp>

namespace mortise::runtime {

inline void raise_if(const Failure& failure) {
  if (failure) throw LockError(failure);
}

}  // namespace mortise::runtime
