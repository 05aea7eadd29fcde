// SPDX-License-Identifier: MIT
// The terms of a client's handles: one object for all that ask for the same one after the other, as
// a program with thousands of them has it do.
#pragma once

#include <mortise/options.hpp>

#include "base/span.hpp"
#include "core/terms.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace mortise::runtime {

/// @thread_safety every member may be called concurrently.
class SharedTerms {
 public:
  /// @param label of handles that have none of their own
  explicit SharedTerms(std::string label) noexcept : label_(std::move(label)) {}

  /// @param options that were checked
  /// @param permits of a semaphore; 0 = of a lock, or a key
  /// @return the terms of a handle with these options: the object before, if it has the same terms.
  [[nodiscard]] std::shared_ptr<const core::Terms> of(const LockOptions& options,
                                                      std::uint32_t permits = 0) {
    const bool limited = options.max_hold < base::longest_span;
    core::Terms wanted{.lease = options.lease,
                       .renew = options.renew,
                       .max_hold = limited ? core::Nanos(options.max_hold) : core::Nanos::max(),
                       .label = options.label.empty() ? label_ : options.label,
                       .min_hold = options.min_hold,
                       .mode = permits > 0 ? Mode::permit : options.mode,
                       .permits = permits};
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
  const std::string label_;
  std::mutex mutex_;
  std::shared_ptr<const core::Terms> last_;
  core::Nanos shortest_lease_ = core::Nanos::max();
};

}  // namespace mortise::runtime
