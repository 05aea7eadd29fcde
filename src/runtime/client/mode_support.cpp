// SPDX-License-Identifier: MIT
// Each mode has one capability, and one sentence for its lack.
#include "runtime/client/mode_support.hpp"

#include <mortise/backend.hpp>

#include <string>
#include <string_view>

namespace mortise::runtime {
namespace {

Failure without(const Backend& backend, Mode mode, std::string_view words) {
  const std::string why = backend.why_not(mode);
  return {Errc::unsupported,
          backend.describe() + std::string(words) + (why.empty() ? why : ": " + why)};
}

}  // namespace

Failure check_support(const Backend& backend, Mode mode) {
  const Capabilities can = backend.capabilities();
  switch (mode) {
    case Mode::exclusive: break;
    case Mode::shared:
      if (can.shared_mode == Support::yes) break;
      return without(backend, mode, ": it has no shared locks");
    case Mode::permit:
      if (can.permits == Support::yes) break;
      return without(backend, mode, ": it has no semaphores");
    case Mode::once:
      if (can.once == Support::yes) break;
      return without(backend, mode, ": it cannot remember keys");
  }
  return {};
}

}  // namespace mortise::runtime
