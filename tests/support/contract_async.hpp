// SPDX-License-Identifier: MIT
// Shared code of the tests of calls without a thread.
#pragma once

#include "support/contract_suites.hpp"
#include "support/detached.hpp"

#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

namespace mortise::contract {

using test::Detached;
using test::driven_until;
using test::Owned;

inline constexpr Drive each_drive[] = {Drive::threads, Drive::program};

inline const char* text_of_drive(Drive drive) {
  return drive == Drive::threads ? "threads" : "program";
}

/// Keeps completions until a test runs or destroys them.
class Shelf final : public Executor {
 public:
  void post(Completion completion) override {
    const std::lock_guard lock(mutex_);
    kept_.push_back(std::move(completion));
  }
  [[nodiscard]] std::size_t size() {
    const std::lock_guard lock(mutex_);
    return kept_.size();
  }
  std::vector<Completion> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(kept_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<Completion> kept_;
};

}  // namespace mortise::contract
