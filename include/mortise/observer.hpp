// SPDX-License-Identifier: MIT
// The hook for logs and figures. The library itself never prints.
#pragma once

#include <mortise/error.hpp>
#include <mortise/export.hpp>
#include <mortise/holder.hpp>
#include <mortise/token.hpp>

#include <chrono>
#include <string_view>

namespace mortise {

/// What happened to one name. The views are valid during the call only.
struct Event {
  std::string_view name;   ///< the lock's name
  std::string_view label;  ///< the own label of the hold
  Token token{};           ///< 0 where there is no hold
  /// granted: the time from the call to the grant; released and lost: the time held; others: 0
  std::chrono::nanoseconds took{0};
};

/// Derive from it and override what interests you; every member does nothing by default.
///
/// `granted`, `contended` and `released` run on the thread whose call caused them; `renewed`,
/// `lost`, `failed` and `wanted` on the client's notifier thread. No mutex of the library is held,
/// so an observer may block (it delays that caller or later notifications, never a renewal), lock,
/// or destroy objects of the library.
/// @thread_safety members are called concurrently. They must not throw.
class MORTISE_API Observer {
 public:
  virtual ~Observer();
  /// An outermost acquisition succeeded (a re-entry is not told).
  virtual void granted(const Event&) noexcept {}
  /// A caller gave up because somebody else held the lock.
  virtual void contended(const Event&) noexcept {}
  /// The watchdog moved the deadline of a hold.
  virtual void renewed(const Event&) noexcept {}
  /// A hold ended without its owner's unlock; told once a hold, beside `lost()`.
  virtual void lost(const Event&, const Failure& /*why*/) noexcept {}
  /// The last unlock of a hold; not told for one that was told as lost.
  virtual void released(const Event&, Released /*outcome*/) noexcept {}
  /// Something failed that no caller is told: a renewal that will be repeated, a release whose
  /// answer did not come.
  virtual void failed(const Event&, const Failure& /*why*/) noexcept {}
  /// Somebody asks for a lock that is held here, as Curator's `Revoker` does: let go of it soon, if
  /// you can. The hold stands until you do.
  virtual void wanted(const Event&) noexcept {}
};

}  // namespace mortise
