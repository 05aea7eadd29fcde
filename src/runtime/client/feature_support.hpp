// SPDX-License-Identifier: MIT
// The features of a backend. Each call that needs a feature asks here before it makes a handle or
// sends a request.
#pragma once

#include <mortise/backend.hpp>
#include <mortise/capabilities.hpp>
#include <mortise/error.hpp>
#include <mortise/mode.hpp>

namespace mortise::runtime {

/// @return `unsupported` with the reason if the backend lacks the feature; no failure if it has it
[[nodiscard]] Failure check_support(Backend& backend, Feature feature);

/// The same for holds of a mode. Every backend has exclusive holds.
[[nodiscard]] Failure check_support(Backend& backend, Mode mode);

/// @return the properties that the backend reports, and its optional interfaces.
[[nodiscard]] Capabilities capabilities_of(Backend& backend);

}  // namespace mortise::runtime
