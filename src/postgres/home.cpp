// SPDX-License-Identifier: MIT
#include "postgres/home.hpp"

#include <charconv>
#include <cstdint>

namespace mortise::postgres {
namespace {

constexpr std::string_view kind_of_store = "postgresql ";

/// Cuts a number and the slash behind it off.
std::optional<std::int64_t> number_and_slash(std::string_view& words) {
  std::int64_t value = 0;
  const char* const end = words.data() + words.size();
  const auto [stop, error] = std::from_chars(words.data(), end, value);
  if (error != std::errc{} || stop == end || *stop != '/') return std::nullopt;
  words.remove_prefix(static_cast<std::size_t>(stop - words.data()) + 1);
  return value;
}

}  // namespace

std::string Home::text() const {
  return std::string(kind_of_store) + std::to_string(place.cluster) + "/" +
         std::to_string(place.database) + "/" + schema;
}

std::optional<Home> Home::of(std::string_view identity) {
  if (!is_postgresql(identity)) return std::nullopt;
  identity.remove_prefix(kind_of_store.size());
  const std::optional<std::int64_t> cluster = number_and_slash(identity);
  if (!cluster) return std::nullopt;
  const std::optional<std::int64_t> database = number_and_slash(identity);
  if (!database) return std::nullopt;
  return Home{.place = {.cluster = *cluster, .timeline = 0, .database = *database},
              .schema = std::string(identity)};
}

bool is_postgresql(std::string_view identity) noexcept {
  return identity.starts_with(kind_of_store);
}

}  // namespace mortise::postgres
