// SPDX-License-Identifier: MIT
// The renewals that are due together, in one request.
#pragma once

#include <mortise/operation.hpp>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace mortise::runtime {

class HoldKeeper;

/// Renewals of many holds in one request.
class RenewalBatch final : public Renewal {
 public:
  RenewalBatch() : Renewal({}) {}
  void add(const std::shared_ptr<HoldKeeper>& keeper, std::uint64_t generation, Item item);

 private:
  void finished() noexcept override;
  // Weak: the backend keeps a request as long as it likes, and the slot keeps the backend.
  std::vector<std::pair<std::weak_ptr<HoldKeeper>, std::uint64_t>> keepers_;
};

}  // namespace mortise::runtime
