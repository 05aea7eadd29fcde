// SPDX-License-Identifier: MIT
// The last failure of a connection. It is kept even if there is no memory for its text.
#pragma once

#include <mortise/error.hpp>

#include "base/farewell.hpp"

#include <mutex>

namespace mortise::remote {

/// @thread_safety every member may be called concurrently
class LastFailure {
 public:
  /// Without memory for the text, it keeps the code alone.
  void note(const Failure& why) noexcept {
    const std::lock_guard lock(mutex_);
    failure_.code = why.code;
    failure_.text.clear();
    base::without_memory([&] { failure_.text = why.text; });
  }
  void clear() noexcept {
    const std::lock_guard lock(mutex_);
    failure_ = Failure{};
  }
  /// @return none = it did not fail, or that is not known
  [[nodiscard]] Failure get() const {
    const std::lock_guard lock(mutex_);
    return failure_;
  }

 private:
  mutable std::mutex mutex_;
  Failure failure_;
};

}  // namespace mortise::remote
