// SPDX-License-Identifier: MIT
// What a free name costs as a reader's, and a free permit of a semaphore, beside a free name as an
// owner's: of one backend, on one server, in turn.
#pragma once

#include "case.hpp"

#include <functional>
#include <initializer_list>
#include <memory>
#include <string>

namespace mortise::bench {

/// A store of one backend.
struct Bed {
  std::string url;
  std::shared_ptr<const void> store{};  ///< what serves it; null: that ends by itself
};

/// Adds `shapes/<backend>_shared_cycle` and `_permit_cycle`.
/// @param batch cycles for one reading of the clock: several, where it takes as long as they do
void add_shape_cycles(Cases& cases, std::initializer_list<Mode> modes, const std::string& backend,
                      int batch, const std::function<Bed(Mode)>& make);

}  // namespace mortise::bench
