// SPDX-License-Identifier: MIT
// Homes for the virtual tables of the backend's interface, and its defaults.
#include <mortise/backend.hpp>

namespace mortise {

Source::~Source() = default;
Host::~Host() = default;
void Host::hold_wanted(const HoldId& /*hold*/) {}
Backend::~Backend() = default;

std::string Backend::identity() const { return describe(); }

std::string Backend::why_not(Mode /*mode*/) const { return {}; }

void Backend::recall(const std::shared_ptr<Recollection>& operation) {
  operation->failed({Errc::unsupported, describe() + ": it cannot remember keys"});
}

void Backend::list(const std::shared_ptr<Listing>& operation) {
  operation->failed({Errc::unsupported, describe() + ": it cannot list the held names"});
}

void Backend::queue(const std::shared_ptr<QueueLook>& operation) {
  operation->failed({Errc::unsupported, describe() + ": it cannot list the waiters"});
}

bool Backend::wait(Operation& /*operation*/, std::uint32_t /*seen*/,
                   std::chrono::nanoseconds /*at_most*/) {
  return false;
}

bool Backend::needs_waiting_threads() const noexcept { return false; }

}  // namespace mortise
