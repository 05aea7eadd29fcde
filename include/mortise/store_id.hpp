// SPDX-License-Identifier: MIT
// The store of a hold, for code that ties the hold to other data in that store.
#pragma once

#include <mortise/export.hpp>

#include <string>

namespace mortise {

/// Both texts are empty if there is no hold.
struct StoreId {
  std::string words{};     ///< for messages, without credentials: "redis 10.0.0.1:6379"
  std::string identity{};  ///< as `Backend::identity()`
};

}  // namespace mortise
