// SPDX-License-Identifier: MIT
// Only a faulty network draws random numbers, and locks its mutex for them.
#include "memory/network.hpp"

namespace mortise::memory {

std::optional<std::chrono::nanoseconds> Network::send(Message kind) {
  if (kind == Message::push) ++pushes_;
  if (!reachable_) return std::nullopt;
  if (!faulty_) return std::chrono::nanoseconds(0);
  const std::lock_guard lock(mutex_);
  const double loss = kind == Message::request ? faults_.lose_request
                      : kind == Message::reply ? faults_.lose_reply
                                               : faults_.lose_push;
  if (random_.unit() < loss) return std::nullopt;
  const auto range = static_cast<double>((faults_.delay_max - faults_.delay_min).count());
  return faults_.delay_min +
         std::chrono::nanoseconds(static_cast<std::int64_t>(random_.unit() * range));
}

void Network::set_faults(const Faults& faults) {
  const std::lock_guard lock(mutex_);
  faults_ = faults;
  faulty_ = faults.delay_max.count() > 0 || faults.lose_request > 0 || faults.lose_reply > 0 ||
            faults.lose_push > 0;
  has_been_faulty_ = has_been_faulty_ || faulty_;
  random_ = base::SplitMix(faults.seed);
}

}  // namespace mortise::memory
