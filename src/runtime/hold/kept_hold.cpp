// SPDX-License-Identifier: MIT
// Whichever of the words is answered, the hold is settled.
#include "runtime/hold/kept_hold.hpp"

#include <mortise/backend.hpp>

#include "core/figures.hpp"

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

namespace mortise::runtime {

class KeptHold::Word final : public Renewal {
 public:
  Word(std::shared_ptr<KeptHold> kept, Instant now)
      : Renewal({Item{.hold = kept->hold_, .lease = kept->keeping_.lease(now)}}),
        kept_(std::move(kept)) {}

 protected:
  void finished() noexcept override {
    const Answer answer = items().front().answer;
    if (!failure() && answer != Answer::unknown) kept_->answer_.store(answer);
  }

 private:
  const std::shared_ptr<KeptHold> kept_;
};

std::shared_ptr<Operation> KeptHold::say(Backend& backend, Instant now) noexcept {
  try {
    if (now >= keeping_.ends()) {
      backend.release(std::make_shared<Release>(hold_));
      released_.store(true);
      return nullptr;
    }
    if (is_answered() && now >= doubt_) return nullptr;  // it is known until then
    const auto word = std::make_shared<Word>(shared_from_this(), now);
    backend.renew(word);
    return word;
  } catch (const std::exception&) {
    return nullptr;
  }
}

Instant KeptHold::next(Instant now) const noexcept {
  const Instant again = now + core::fallback_period;
  if (now >= keeping_.ends()) return again;  // it has been released, unless there was no memory
  return is_answered() && now >= doubt_ ? keeping_.ends() : std::min(again, keeping_.ends());
}

Released KeptHold::outcome() const noexcept {
  switch (answer_.load()) {
    case Answer::renewed: return Released::released;
    case Answer::lost: return Released::was_lost;
    case Answer::unknown: break;
  }
  return Released::unknown;
}

}  // namespace mortise::runtime
