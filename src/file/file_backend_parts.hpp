// SPDX-License-Identifier: MIT
// What the sources of `FileBackend` share.
#pragma once

#include <mortise/error.hpp>
#include <mortise/operation.hpp>

#include "file/file_name.hpp"

#include <chrono>
#include <new>
#include <string>

namespace mortise::file {

inline std::string closed_words() { return "the client is closed"; }
inline Failure closed() { return {Errc::closed, closed_words()}; }

/// Short enough to need no memory itself.
inline Failure out_of_memory() { return {Errc::exhausted, "out of memory"}; }

/// For requests that change nothing.
template <class Work>
void answer(Operation& operation, Work work) {
  try {
    work();
  } catch (const std::bad_alloc&) {
    operation.failed(out_of_memory());
  }
}

inline Failure refuse_name(const std::string& name) {
  if (name.empty() || name.size() > longest_name) {
    return {Errc::misconfigured, "file: a lock name must have 1 to " +
                                     std::to_string(longest_name) + " bytes; this one has " +
                                     std::to_string(name.size())};
  }
  return {};
}

/// How long a caller that does not wait tries for a key that nobody runs, but which is locked:
/// whoever removes its file, or has it forgotten, holds it for microseconds.
inline constexpr int passing_tries = 20;
inline constexpr std::chrono::nanoseconds passing_pause = std::chrono::microseconds(100);

}  // namespace mortise::file
