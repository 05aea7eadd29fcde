// SPDX-License-Identifier: MIT
// What users call: include/mortise/redlock.hpp.
#include <mortise/redlock.hpp>

#include "redlock/redlock_backend.hpp"

namespace mortise::redlock {

std::unique_ptr<Backend> backend(std::string_view url) {
  return std::make_unique<RedlockBackend>(Settings::parse(url));
}

}  // namespace mortise::redlock
