// SPDX-License-Identifier: MIT
// An administrator's program: it opens the store, ends a hold by force, and closes it again.
#pragma once

#include <mortise/client.hpp>

#include <chrono>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace mortise::test {

/// @param store a URL or a backend
template <class Store>
std::vector<Holder> force_release(Store store, std::string_view name,
                                  std::chrono::milliseconds wait, Token of = {}) {
  Client administrator(std::move(store));
  return administrator.force_release(name, {.of = of, .wait = wait});
}

}  // namespace mortise::test
