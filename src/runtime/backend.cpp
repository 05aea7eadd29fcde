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
  operation->failed({Errc::unsupported, describe() + ": keys with a memory"});
}

void Backend::list(const std::shared_ptr<Listing>& operation) {
  operation->failed({Errc::unsupported, describe() + ": it cannot tell which names are held"});
}

void Backend::queue(const std::shared_ptr<QueueLook>& operation) {
  operation->failed({Errc::unsupported, describe() + ": it cannot tell who waits"});
}

void Backend::force_release(const std::shared_ptr<ForcedRelease>& operation) {
  operation->failed({Errc::unsupported, describe() + ": it cannot end the hold of another"});
}

bool Backend::wait(Operation& /*operation*/, std::uint32_t /*seen*/,
                   std::chrono::nanoseconds /*at_most*/) {
  return false;
}

}  // namespace mortise
