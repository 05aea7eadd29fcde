// SPDX-License-Identifier: MIT
// One request renews many holds, and its answer is told to each of their keepers, once.
#include "runtime/hold/renewal_batch.hpp"

#include "runtime/hold/hold_keeper.hpp"

#include <exception>

namespace mortise::runtime {

void RenewalBatch::add(const std::shared_ptr<HoldKeeper>& keeper, std::uint64_t generation,
                       Item item) {
  keepers_.emplace_back(keeper, generation);
  items().push_back(std::move(item));
}

void RenewalBatch::finished() noexcept {
  for (std::size_t i = 0; i < keepers_.size(); ++i) tell(i);
}

Failure RenewalBatch::why_unanswered(std::size_t index) {
  if (failure()) return failure();
  // Of several servers one may be in trouble, and the others have answered.
  const bool answered = items()[index].answer != Renewal::Answer::unknown;
  return answered ? Failure() : trouble().value_or(Failure());
}

void RenewalBatch::tell(std::size_t index) noexcept {
  if (told_.at(index).exchange(true)) return;
  const auto& [weak, generation] = keepers_[index];
  const std::shared_ptr<HoldKeeper> keeper = weak.lock();
  if (!keeper) return;
  try {
    keeper->renewal_answered(generation, items()[index], why_unanswered(index));
  } catch (const std::exception&) {
    // Out of memory: an answer that was not learned is asked for again, inside the lease.
  }
}

}  // namespace mortise::runtime
