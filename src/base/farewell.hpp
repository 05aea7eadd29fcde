// SPDX-License-Identifier: MIT
// How what is still asked for is completed at the end of a client.
#pragma once

#include <mortise/operation.hpp>

#include <new>
#include <string>
#include <utility>

namespace mortise::base {

/// Completes an operation with `closed`, also where there is no memory for the words.
/// @param describe tells the backend in words
template <class Describe>
void farewell(Operation& operation, Describe describe) noexcept {
  Failure why(Errc::closed, std::string());
  try {
    why.text = describe();
  } catch (const std::bad_alloc&) {
    // The code says enough.
  }
  operation.failed(std::move(why));
}

/// Does what it can where there is no memory for all of it.
template <class Work>
void without_memory(Work work) noexcept {
  try {
    work();
  } catch (const std::bad_alloc&) {
    return;
  }
}

}  // namespace mortise::base
