// SPDX-License-Identifier: MIT
// Why a connection failed last.
#pragma once

#include <mortise/error.hpp>

#include "base/farewell.hpp"

#include <mutex>

namespace mortise::redis {

/// @thread_safety every member may be called concurrently
class LastFailure {
 public:
  /// Without memory for the words, the code says enough.
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

}  // namespace mortise::redis
