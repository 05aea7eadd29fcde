// SPDX-License-Identifier: MIT
// Permits: each is a byte of the semaphore's file, which its holder has locked. How many there are
// is written there, and stands as long as any client holds one or waits: that the kernel knows.
#pragma once

#include <mortise/clock.hpp>
#include <mortise/operation.hpp>

#include "file/decision.hpp"
#include "file/held_file.hpp"

#include <cstdint>
#include <optional>

namespace mortise::file {

/// @thread_safety none: part of an entry, under its mutex.
class Permits {
 public:
  /// @param held outlives this
  explicit Permits(HeldFile& held) noexcept : held_(held) {}

  [[nodiscard]] Decision try_for(const Acquisition& operation, Instant counted_from, Nap& nap);

 private:
  [[nodiscard]] Decision try_once(const Acquisition& operation, Instant counted_from, Nap& nap);
  [[nodiscard]] Failure check_number(const Acquisition& operation, const Header& header);
  [[nodiscard]] bool has_place(std::uint32_t place) const noexcept;
  [[nodiscard]] Failure take_place(std::uint32_t permits,
                                   std::optional<std::uint32_t>& place) const;

  HeldFile& held_;
};

}  // namespace mortise::file
