// SPDX-License-Identifier: MIT
// Renewals of many holds travel together, and where several servers have them their answers do not
// come together: what one server has told of its holds must not wait for another one that is
// silent, or those would be lost although they are renewed. Nothing depends on it where one server
// has all, so it is not a part of the interface that a backend has to know.
#pragma once

#include <mortise/operation.hpp>

#include <cstddef>

namespace mortise::base {

class PiecemealRenewal : public Renewal {
 public:
  using Renewal::Renewal;
  /// What is in that item is the last word on it; others are not known yet. Said before the
  /// completion, which may come meanwhile from another thread, and not of an item that others still
  /// write to.
  virtual void learned(std::size_t index) noexcept = 0;
};

/// Says so to whoever can use it.
inline void tell_early(Renewal& renewal, std::size_t index) noexcept {
  if (auto* const piecemeal = dynamic_cast<PiecemealRenewal*>(&renewal)) piecemeal->learned(index);
}

}  // namespace mortise::base
