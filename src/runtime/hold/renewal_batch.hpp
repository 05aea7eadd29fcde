// SPDX-License-Identifier: MIT
// The renewals that are due together, in one request.
#pragma once

#include "base/piecemeal_renewal.hpp"
#include "core/figures.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace mortise::runtime {

class HoldKeeper;

/// Renewals of many holds in one request, `core::renewal_batch` at most.
class RenewalBatch final : public base::PiecemealRenewal {
 public:
  RenewalBatch() : PiecemealRenewal(std::vector<Item>{}) {}
  void add(const std::shared_ptr<HoldKeeper>& keeper, std::uint64_t generation, Item item);
  void learned(std::size_t index) noexcept override { tell(index); }

 private:
  void finished() noexcept override;
  void tell(std::size_t index) noexcept;
  /// @return why an item was not answered, as far as the backend knows; of others nothing.
  [[nodiscard]] Failure why_unanswered(std::size_t index);

  // Weak: the backend keeps a request as long as it likes, and the slot keeps the backend.
  std::vector<std::pair<std::weak_ptr<HoldKeeper>, std::uint64_t>> keepers_;
  std::array<std::atomic<bool>, core::renewal_batch> told_{};
};

}  // namespace mortise::runtime
