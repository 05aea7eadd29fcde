// SPDX-License-Identifier: MIT
// Things that are to be done whatever becomes of the one before.
#pragma once

#include <exception>

namespace mortise::postgres {

/// Where there is no memory for one of several steps the others are made all the same.
/// @thread_safety for one thread at a time
class Steps {
 public:
  template <class Step>
  void make(const Step& step) noexcept {
    try {
      step();
    } catch (...) {
      failed_ = std::current_exception();
    }
  }
  /// Throws what the last one that failed has thrown.
  void rethrow() const {
    if (failed_) std::rethrow_exception(failed_);
  }

 private:
  std::exception_ptr failed_;
};

}  // namespace mortise::postgres
