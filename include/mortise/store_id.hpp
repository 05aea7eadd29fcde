// SPDX-License-Identifier: MIT
// Which store a hold is in, for code that ties the hold to something else in that store.
#pragma once

#include <mortise/export.hpp>

#include <string>

namespace mortise {

/// Both are empty where nothing is held.
struct StoreId {
  std::string words{};     ///< for messages, without credentials: "redis 10.0.0.1:6379"
  std::string identity{};  ///< as `Backend::identity()`
};

}  // namespace mortise
