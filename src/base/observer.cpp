// SPDX-License-Identifier: MIT
// Gives the observer's virtual table a home.
#include <mortise/observer.hpp>

namespace mortise {

Observer::~Observer() = default;

}  // namespace mortise
