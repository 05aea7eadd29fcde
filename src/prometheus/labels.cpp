// SPDX-License-Identifier: MIT
// The words of labels are those of the enumerations.
#include "prometheus/labels.hpp"

#include "base/printable.hpp"

#include <prometheus/family.h>
#include <prometheus/gauge.h>

#include <utility>

namespace mortise::prometheus {

std::string word_of(const std::error_code& code) {
  if (code.category() != error_category()) return "other";
  switch (static_cast<Errc>(code.value())) {
    case Errc::timeout: return "timeout";
    case Errc::cancelled: return "cancelled";
    case Errc::unavailable: return "unavailable";
    case Errc::denied: return "denied";
    case Errc::lost: return "lost";
    case Errc::not_owner: return "not_owner";
    case Errc::in_doubt: return "in_doubt";
    case Errc::misconfigured: return "misconfigured";
    case Errc::unsupported: return "unsupported";
    case Errc::protocol: return "protocol";
    case Errc::exhausted: return "exhausted";
    case Errc::closed: return "closed";
    case Errc::mismatch: return "mismatch";
  }
  return "other";
}

std::string word_of(Released outcome) {
  switch (outcome) {
    case Released::released: return "released";
    case Released::was_lost: return "was_lost";
    case Released::unknown: break;
  }
  return "unknown";
}

std::string word_of(Mode mode) {
  switch (mode) {
    case Mode::exclusive: return "exclusive";
    case Mode::once: return "once";
    case Mode::shared: return "shared";
    case Mode::permit: break;
  }
  return "permit";
}

double seconds(std::chrono::nanoseconds time) noexcept {
  return std::chrono::duration<double>(time).count();
}

Labels checked(Labels labels) {
  for (auto& [name, value] : labels) value = base::printable(std::move(value));
  static_cast<void>(::prometheus::Family<::prometheus::Gauge>("mortise", "", labels));
  return labels;
}

}  // namespace mortise::prometheus
