// SPDX-License-Identifier: MIT
// How the public classes turn a failure into the exception that users see, and back.
#pragma once

#include <mortise/error.hpp>

#include "base/error_words.hpp"

#include <system_error>

namespace mortise::runtime {

inline void raise_if(const Failure& failure) {
  if (failure) throw Error(failure);
}

/// @return what an exception says that ended a request: its own code, or `exhausted`, since a
/// system call that throws is one that makes a thread or a descriptor.
[[nodiscard]] inline Failure failure_of(const std::system_error& error) {
  const auto* const typed = dynamic_cast<const Error*>(&error);
  if (typed == nullptr) return {Errc::exhausted, error.what()};
  return {typed->errc(), base::words_of(*typed)};
}

}  // namespace mortise::runtime
