// SPDX-License-Identifier: MIT
#include "runtime/engine/errands.hpp"

#include <mortise/backend.hpp>
#include <mortise/operation.hpp>

#include <algorithm>
#include <utility>

namespace mortise::runtime {
namespace {

class ReleaseErrand final : public Errand {
 public:
  explicit ReleaseErrand(std::shared_ptr<Release> release) noexcept
      : release_(std::move(release)) {}
  void send(const std::shared_ptr<Errand>& /*self*/, Backend& backend, Instant /*now*/) override {
    backend.release(release_);
  }
  [[nodiscard]] bool is_answered() const noexcept override { return release_->done(); }

 private:
  const std::shared_ptr<Release> release_;
};

}  // namespace

Instant Errands::adopt(std::shared_ptr<Errand> errand, Instant now, Instant until) {
  const Instant again = errand->next(now);
  const std::lock_guard lock(mutex_);
  cases_.push_back({std::move(errand), again, until});
  return again;
}

Instant Errands::adopt(std::shared_ptr<Release> release, Instant now, Instant until) {
  return adopt(std::make_shared<ReleaseErrand>(std::move(release)), now, until);
}

Instant Errands::run(Instant now) {
  std::vector<std::shared_ptr<Errand>> due;
  Instant next = never;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(cases_, [now](const Case& c) { return c.errand->is_over() || now >= c.until; });
    for (Case& c : cases_) {
      if (now >= c.again) {
        due.push_back(c.errand);
        c.again = c.errand->next(now);
      }
      next = std::min(next, c.again);
    }
  }
  for (const std::shared_ptr<Errand>& errand : due) errand->send(errand, backend_, now);
  return next;
}

bool Errands::idle() {
  const std::lock_guard lock(mutex_);
  return std::all_of(cases_.begin(), cases_.end(),
                     [](const Case& c) { return c.errand->is_answered(); });
}

}  // namespace mortise::runtime
