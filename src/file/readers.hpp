// SPDX-License-Identifier: MIT
// Readers, and how they and the writers take turns.
//
// A waiting writer is seen by the kernel's lock of its client on a byte: readers that come then
// wait, so that the readers of a name come to an end. A reader goes before a writer that waits once
// an owner has had the name since the reader came, so that it waits for one of them, not for all.
// Each reader finds out both by itself; nothing is written that a killed process would leave
// behind.
#pragma once

#include <mortise/clock.hpp>
#include <mortise/operation.hpp>

#include "file/decision.hpp"
#include "file/held_file.hpp"

#include <cstdint>

namespace mortise::file {

/// @thread_safety none: part of an entry, under its mutex.
class Readers {
 public:
  /// @param held outlives this
  explicit Readers(HeldFile& held) noexcept : held_(held) {}

  /// Tries to read. @param since of the waiter, if it is one
  [[nodiscard]] Decision try_for(const Acquisition::Request& request, Instant counted_from,
                                 Nap& nap, std::uint64_t& since);
  /// @return whether an attempt waits that this client's readers exclude.
  [[nodiscard]] bool exclude_a_writer() const;

 private:
  [[nodiscard]] Decision beside_the_owner(const Acquisition::Request& request, Instant counted_from,
                                          Nap& nap, std::uint64_t& since);
  [[nodiscard]] Decision try_once(const Acquisition::Request& request, Instant counted_from,
                                  std::uint64_t& since);
  [[nodiscard]] Failure look_before(std::uint64_t& since, bool& refused);
  [[nodiscard]] Failure draw(Header& header);
  [[nodiscard]] Decision note(const Acquisition::Request& request, Instant counted_from,
                              Header& header);
  [[nodiscard]] Failure gives_way(const Header& header, std::uint64_t& since, bool& waits);
  [[nodiscard]] Failure writer_waits(const Header& header, bool& waits) const;

  HeldFile& held_;
  bool writer_seen_ = false;   // one waited at the last look
  bool drawing_seen_ = false;  // another client drew a number for readers then
};

}  // namespace mortise::file
