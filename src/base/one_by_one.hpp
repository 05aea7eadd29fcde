// SPDX-License-Identifier: MIT
// Things that concern one another no more than that they come together: answers, calls that a
// connection has left behind. What fails for one of them must not keep the others from being done.
#pragma once

#include <exception>

namespace mortise::base {

/// Does each of several things, whatever became of those before it.
class OneByOne {
 public:
  template <class Work>
  void operator()(Work work) noexcept {
    try {
      work();
    } catch (...) {
      failed_ = std::current_exception();
    }
  }
  [[nodiscard]] bool failed() const noexcept { return failed_ != nullptr; }
  /// Throws what was thrown last, if anything was.
  void finish() const {
    if (failed_) std::rethrow_exception(failed_);
  }

 private:
  std::exception_ptr failed_;
};

}  // namespace mortise::base
