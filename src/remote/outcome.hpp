// SPDX-License-Identifier: MIT
// The meaning of a server's answer for the operation that it answers. It is the same for every
// store.
#pragma once

#include <mortise/operation.hpp>

#include "base/mutant.hpp"

#include <cstdint>
#include <thread>

namespace mortise::remote {

/// Waits until an attempt that is decided is completed. Another thread may do that at this moment,
/// and its result can be read only afterwards.
inline void await_completion(const Acquisition& operation) noexcept {
  while (!operation.done()) std::this_thread::yield();
}

/// Releases the hold with that number, which no caller has.
template <class Exchange>
void give_back(Exchange& exchange, const Acquisition::Request& request, std::uint64_t number) {
  exchange.give_back(Release::undo({request.name, request.attempt, number, request.mode}),
                     request.lease);
}

/// The server granted the attempt, and its course has noted that: completes the operation with the
/// grant. If the caller has gone, or took another grant, the client gives this one back.
/// @param noted the number of the hold that the course has noted
/// @return true if the caller has this grant
template <class Exchange, class Courses>
bool complete(Exchange& exchange, Courses& courses, Acquisition& operation, const Grant& grant,
              std::uint64_t noted) {
  operation.granted(grant);
  await_completion(operation);
  const Grant& its = operation.grant();
  // Before the answer to its release is read.
  if (its.number != noted) {
    courses.on(operation.request().attempt,
               [&](auto& entry) { entry.course.take(its.number, its.counted_from + its.lease); });
  }
  const bool holds = its.number == grant.number;
  if (holds || base::mutant("postgres.keep_grant_of_ended_call")) return holds;
  give_back(exchange, operation.request(), grant.number);
  return false;
}

/// A look found a hold with that number, for an attempt that is decided.
template <class Exchange>
void found(Exchange& exchange, const Acquisition& operation, std::uint64_t number) {
  await_completion(operation);
  if (operation.grant().number != number) give_back(exchange, operation.request(), number);
}

/// The answer of a server to a release.
enum class ReleaseOutcome : std::uint8_t {
  freed,         ///< it freed the hold
  freed_before,  ///< an earlier request freed it
  lapsed,        ///< the lease was over
  not_ours,      ///< it has no such hold
};
/// @param was_lost an earlier copy of the request was not answered, and may have been executed
[[nodiscard]] constexpr Released released_by(ReleaseOutcome outcome, bool was_lost) noexcept {
  switch (outcome) {
    case ReleaseOutcome::freed: return Released::released;
    case ReleaseOutcome::freed_before: return was_lost ? Released::released : Released::was_lost;
    case ReleaseOutcome::lapsed: break;
    // That copy may have freed it, and another client may have taken it since.
    case ReleaseOutcome::not_ours: return was_lost ? Released::unknown : Released::was_lost;
  }
  return Released::was_lost;
}

}  // namespace mortise::remote
