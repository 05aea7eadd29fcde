// SPDX-License-Identifier: MIT
// The version of the library, as it was compiled.
#include <mortise/version.hpp>

namespace mortise {

std::string_view version() noexcept { return MORTISE_VERSION; }

}  // namespace mortise
