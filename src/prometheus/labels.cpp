// SPDX-License-Identifier: MIT
// The words of labels are those of the enumerations.
#include "prometheus/labels.hpp"

#include "base/printable.hpp"

#include <prometheus/family.h>
#include <prometheus/gauge.h>

#include <stdexcept>
#include <utility>

namespace mortise::prometheus {

std::string word_of(const std::error_code& code) {
  if (code.category() != error_category()) return "other";
  return std::string(to_string(static_cast<Errc>(code.value())));
}

double seconds(std::chrono::nanoseconds time) noexcept {
  return std::chrono::duration<double>(time).count();
}

Labels checked(Labels labels, std::initializer_list<const char*> own) {
  for (const char* const name : own) {
    if (labels.contains(name)) {
      throw std::invalid_argument(std::string("mortise: the metrics use the label ") + name +
                                  " themselves; choose another name");
    }
  }
  for (auto& [name, value] : labels) value = base::printable(std::move(value));
  static_cast<void>(::prometheus::Family<::prometheus::Gauge>("mortise", "", labels));
  return labels;
}

}  // namespace mortise::prometheus
