// SPDX-License-Identifier: MIT
// Text that a thread makes again and again, in memory that it keeps in between. It serves
// destructors of thread_local objects, too: one of a user's may unlock after those of ours have
// run.
#pragma once

#include <string>

namespace mortise::base {

/// Takes the memory on, and puts it back. One that is alive meanwhile has to be `For` another use.
template <class For>
class Scratch {
 public:
  Scratch() noexcept {
    if (!has_ended) text_.swap(kept());
    text_.clear();
  }
  ~Scratch() {
    if (!has_ended) text_.swap(kept());
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  /// @return an empty text at first.
  [[nodiscard]] std::string& text() noexcept { return text_; }

 private:
  struct Kept {
    std::string text;
    ~Kept() { has_ended = true; }
  };
  [[nodiscard]] static std::string& kept() noexcept {
    thread_local Kept kept;
    return kept.text;
  }

  static constinit inline thread_local bool has_ended = false;  // has no destructor
  std::string text_;
};

}  // namespace mortise::base
