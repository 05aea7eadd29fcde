// SPDX-License-Identifier: MIT
// What labels say: values as text that Prometheus accepts.
#pragma once

#include <mortise/error.hpp>
#include <mortise/holder.hpp>
#include <mortise/mode.hpp>

#include <chrono>
#include <initializer_list>
#include <map>
#include <string>

namespace mortise::prometheus {

using Labels = std::map<std::string, std::string>;

/// @return the name of a code in `Errc`, as `unavailable`; "other" for a code of another category.
/// The messages of codes are sentences.
[[nodiscard]] std::string word_of(const std::error_code& code);
[[nodiscard]] double seconds(std::chrono::nanoseconds time) noexcept;
/// @return the labels with values that are visible text. Prometheus refuses a whole page because of
/// one byte that is not UTF-8.
/// @param own names of labels that the metrics set themselves
/// @throws std::invalid_argument if Prometheus does not allow the name of a label, or it is one of
/// these
[[nodiscard]] Labels checked(Labels labels, std::initializer_list<const char*> own);

}  // namespace mortise::prometheus
