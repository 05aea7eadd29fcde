// SPDX-License-Identifier: MIT
// What one part of the library has thrown as the words of what another part reports.
#pragma once

#include <mortise/error.hpp>

#include <string>

namespace mortise::base {

/// @return what the failure said of which the error was made: `what()` without the words of its
/// code, which are added once more where this is thrown again.
[[nodiscard]] inline std::string words_of(const Error& error) {
  std::string words = error.what();
  const std::string added = ": " + error.code().message();
  if (words.ends_with(added)) words.resize(words.size() - added.size());
  return words;
}

}  // namespace mortise::base
