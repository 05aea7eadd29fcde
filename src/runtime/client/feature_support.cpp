// SPDX-License-Identifier: MIT
// A backend has a feature through one interface or one property. A missing feature has one message.
#include "runtime/client/feature_support.hpp"

#include <string>
#include <string_view>

namespace mortise::runtime {
namespace {

bool has(Backend& backend, Feature feature) {
  switch (feature) {
    case Feature::shared: return backend.describe().capabilities.shared_mode == Support::yes;
    case Feature::permits: return backend.describe().capabilities.permits == Support::yes;
    case Feature::once: return backend.records() != nullptr;
    case Feature::holders: return backend.inspector() != nullptr;
    case Feature::lists:
    case Feature::queues: return backend.catalog() != nullptr;
    case Feature::forces: return backend.enforcer() != nullptr;
  }
  return false;
}

std::string_view words_without(Feature feature) {
  switch (feature) {
    case Feature::shared: return "it has no shared locks";
    case Feature::permits: return "it has no semaphores";
    case Feature::once: return "it cannot remember keys";
    case Feature::holders: return "it cannot report the holder of a lock";
    case Feature::lists: return "it cannot list the held names";
    case Feature::queues: return "it cannot list the waiters";
    case Feature::forces:
      return "it cannot end the hold of another client; terminate the process that the label names";
  }
  return {};
}

}  // namespace

Failure check_support(Backend& backend, Feature feature) {
  if (has(backend, feature)) return {};
  const std::string why = backend.why_not(feature);
  return {Errc::unsupported, backend.describe().name + ": " + std::string(words_without(feature)) +
                                 (why.empty() ? why : ": " + why)};
}

Failure check_support(Backend& backend, Mode mode) {
  switch (mode) {
    case Mode::exclusive: break;
    case Mode::shared: return check_support(backend, Feature::shared);
    case Mode::permit: return check_support(backend, Feature::permits);
    case Mode::once: return check_support(backend, Feature::once);
  }
  return {};
}

Capabilities capabilities_of(Backend& backend) {
  const auto support = [&](Feature feature) {
    return has(backend, feature) ? Support::yes : Support::no;
  };
  Capabilities can{backend.describe().capabilities};
  can.once = support(Feature::once);
  can.holders = support(Feature::holders);
  can.lists = support(Feature::lists);
  can.queues = support(Feature::queues);
  can.forces = support(Feature::forces);
  return can;
}

}  // namespace mortise::runtime
