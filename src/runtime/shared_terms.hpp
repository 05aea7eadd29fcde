// SPDX-License-Identifier: MIT
// The terms of a client's handles: one object for all that ask for the same one after the other, as
// a program with thousands of them has it do.
#pragma once

#include <mortise/options.hpp>

#include "core/terms.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>

namespace mortise::runtime {

/// @thread_safety every member may be called concurrently.
class SharedTerms {
 public:
  /// @return terms that agree with those: where the last ones do, the same object.
  [[nodiscard]] std::shared_ptr<const core::Terms> like(core::Terms&& wanted) {
    const std::lock_guard lock(mutex_);
    shortest_lease_ = std::min(shortest_lease_, wanted.lease);
    if (!last_ || !last_->agrees_with(wanted)) {
      last_ = std::make_shared<const core::Terms>(std::move(wanted));
    }
    return last_;
  }

  /// @return the shortest lease of all that were asked for; of no handle that of the default.
  [[nodiscard]] core::Nanos shortest_lease() {
    const std::lock_guard lock(mutex_);
    return shortest_lease_ == core::Nanos::max() ? core::Nanos(LockOptions().lease)
                                                 : shortest_lease_;
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<const core::Terms> last_;
  core::Nanos shortest_lease_ = core::Nanos::max();
};

}  // namespace mortise::runtime
