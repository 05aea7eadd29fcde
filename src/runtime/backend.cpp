// SPDX-License-Identifier: MIT
// Homes for the virtual tables of the backend's interface, and its defaults.
#include <mortise/backend.hpp>

namespace mortise {

Source::~Source() = default;
Host::~Host() = default;
void Host::hold_wanted(const HoldId& /*hold*/) {}
Backend::~Backend() = default;

void Backend::recall(const std::shared_ptr<Recollection>& operation) {
  operation->failed({Errc::unsupported, describe() + ": keys with a memory"});
}

bool Backend::wait(Operation& /*operation*/, std::uint32_t /*seen*/,
                   std::chrono::nanoseconds /*at_most*/) {
  return false;
}

}  // namespace mortise
