// SPDX-License-Identifier: MIT
#include "duration.hpp"

#include <charconv>
#include <cstdint>
#include <utility>

namespace mortise::tool {

std::optional<std::chrono::milliseconds> duration_of(std::string_view text) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop == text.data()) return std::nullopt;
  const std::string_view unit(stop, static_cast<std::size_t>(end - stop));
  constexpr std::uint64_t century = 100ULL * 366 * 24 * 3'600 * 1'000;
  constexpr std::pair<std::string_view, std::uint64_t> units[] = {
      {"ms", 1}, {"s", 1'000}, {"", 1'000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}};
  for (const auto& [name, milliseconds] : units) {
    if (unit != name) continue;
    if (number > century / milliseconds) return std::nullopt;
    return std::chrono::milliseconds(number * milliseconds);
  }
  return std::nullopt;
}

std::string short_text(std::chrono::milliseconds time) {
  const auto all = time.count();
  if (all < 1'000) return std::to_string(all) + "ms";
  const auto two = [](long long big, const char* unit, long long small, const char* part) {
    return std::to_string(big) + unit + (small < 10 ? "0" : "") + std::to_string(small) + part;
  };
  const long long seconds = all / 1'000;
  if (seconds < 60) return std::to_string(seconds) + "s";
  if (seconds < 3'600) return two(seconds / 60, "m", seconds % 60, "s");
  if (seconds < 86'400) return two(seconds / 3'600, "h", seconds / 60 % 60, "m");
  return two(seconds / 86'400, "d", seconds / 3'600 % 24, "h");
}

}  // namespace mortise::tool
