// SPDX-License-Identifier: MIT
// Whether a backend has readers, permits or keys at all: what each call asks before it makes a
// handle, or asks the store about one of them.
#pragma once

#include <mortise/error.hpp>
#include <mortise/mode.hpp>

namespace mortise {
class Backend;
}

namespace mortise::runtime {

/// @return `unsupported` with the reason if the backend has no holds of that mode by its
/// `Capabilities`; no failure if it has them
[[nodiscard]] Failure check_support(const Backend& backend, Mode mode);

}  // namespace mortise::runtime
