// SPDX-License-Identifier: MIT
// One request renews many holds, and its answer is told to each of their keepers.
#include "runtime/renewal_batch.hpp"

#include "runtime/hold_keeper.hpp"

#include <cstddef>
#include <exception>

namespace mortise::runtime {

void RenewalBatch::add(const std::shared_ptr<HoldKeeper>& keeper, std::uint64_t generation,
                       Item item) {
  keepers_.emplace_back(keeper, generation);
  items().push_back(std::move(item));
}

void RenewalBatch::finished() noexcept {
  for (std::size_t i = 0; i < keepers_.size(); ++i) {
    const std::shared_ptr<HoldKeeper> keeper = keepers_[i].first.lock();
    if (!keeper) continue;
    try {
      keeper->renewal_answered(keepers_[i].second, items()[i], failure());
    } catch (const std::exception&) {
      // Out of memory: an answer that was not learned is asked for again, inside the lease.
    }
  }
}

}  // namespace mortise::runtime
