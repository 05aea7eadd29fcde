// SPDX-License-Identifier: MIT
// What tells the loss of a hold to its owner, or to each of those who share it. Made when somebody
// asks for it, so that a loss needs no memory.
#pragma once

#include <mortise/owner.hpp>

#include "runtime/notifier.hpp"

#include <memory>
#include <stop_token>
#include <utility>

namespace mortise::runtime {

/// Tells it to one owner.
class LossNotice final : public Notifier::Task {
 public:
  /// Throws where there is no memory for the stop state.
  explicit LossNotice(Owner its_owner) : owner(its_owner) {}
  void run() override { lost.request_stop(); }

  const Owner owner;
  std::stop_source lost;
  std::unique_ptr<LossNotice> next;
};

/// One task an owner, since the callbacks of one may block. A list, since nearly always there is
/// one or none, and each held lock has this.
/// @thread_safety none: part of a slot, under its mutex; or of what came out of it.
class LossNotices {
 public:
  void add(std::unique_ptr<LossNotice> notice) noexcept {
    notice->next = std::move(first_);
    first_ = std::move(notice);
  }
  /// That owner's hold is over without a loss, or its part of it. @return what is to be destroyed
  /// outside of the mutex; null: nobody has asked
  [[nodiscard]] std::unique_ptr<LossNotice> take(Owner owner) noexcept {
    std::unique_ptr<LossNotice>* place = &first_;
    while (*place && (*place)->owner != owner) place = &(*place)->next;
    if (!*place) return nullptr;
    std::unique_ptr<LossNotice> taken = std::move(*place);
    *place = std::move(taken->next);
    return taken;
  }
  /// @param tell is handed each
  template <class Tell>
  void tell_all(Tell tell) {
    while (std::unique_ptr<LossNotice> notice = std::move(first_)) {
      first_ = std::move(notice->next);
      tell(std::move(notice));
    }
  }

 private:
  std::unique_ptr<LossNotice> first_;
};

}  // namespace mortise::runtime
