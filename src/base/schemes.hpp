// SPDX-License-Identifier: MIT
// Which backend a URL means; and where it means none, what its writer should have written.
#pragma once

#include <memory>
#include <span>
#include <string_view>

namespace mortise {

class Backend;

namespace base {

/// A scheme that this library has a backend for, whether or not this build has it.
struct Scheme {
  std::string_view name;
  std::unique_ptr<Backend> (*open)(std::string_view url);  ///< null: not in this build
  std::string_view option = {};  ///< of CMake, by which a build has it; empty: each has
  bool offered = true;           ///< false: `open` refuses it, in words of its own
};

/// @return the scheme of the URL, which can be opened.
/// @throws Error (`unsupported`: not in this build, or of nobody's; `misconfigured`: there is
/// none). The words name no more of the URL than its scheme: the rest may have a password in it.
[[nodiscard]] const Scheme& scheme_of(std::string_view url, std::span<const Scheme> known);

}  // namespace base
}  // namespace mortise
