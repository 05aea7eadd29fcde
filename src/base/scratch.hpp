// SPDX-License-Identifier: MIT
// Text that a thread makes again and again, in memory that it keeps in between. It serves
// destructors of thread_local objects, too: one of a user's may unlock after those of ours have
// run.
#pragma once

#include <string>

namespace mortise::base {

/// Uses that memory. If another object of the same use is alive, it has a text of its own instead.
template <class For>
class Scratch {
 public:
  Scratch() noexcept {
    if (has_ended || kept().is_taken) return;
    taken_ = &kept();
    taken_->is_taken = true;
    taken_->text.clear();
  }
  ~Scratch() {
    if (taken_ != nullptr && !has_ended) taken_->is_taken = false;
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  /// @return an empty text at first.
  [[nodiscard]] std::string& text() noexcept { return taken_ != nullptr ? taken_->text : own_; }

 private:
  struct Kept {
    std::string text;
    bool is_taken = false;
    ~Kept() { has_ended = true; }
  };
  [[nodiscard]] static Kept& kept() noexcept {
    thread_local Kept kept;
    return kept;
  }

  static constinit inline thread_local bool has_ended = false;  // has no destructor
  Kept* taken_ = nullptr;
  std::string own_;
};

}  // namespace mortise::base
