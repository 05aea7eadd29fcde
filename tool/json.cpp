// SPDX-License-Identifier: MIT
#include "json.hpp"

#include "base/printable.hpp"

namespace mortise::tool {
namespace {

bool is_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const base::Character next = base::first_character(bytes);
    if (!next.valid) return false;
    bytes.remove_prefix(next.length);
  }
  return true;
}

std::string hex_of(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string hex;
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    hex += digits[value >> 4U];
    hex += digits[value & 15U];
  }
  return hex;
}

}  // namespace

void put_bytes(Json& object, const std::string& key, std::string_view bytes) {
  object[key] = bytes;
  if (!is_utf8(bytes)) object[key + "_hex"] = hex_of(bytes);
}

Json json_of(Token token) { return token ? Json(std::to_string(token.value())) : Json(); }

Json json_of(const std::optional<std::chrono::milliseconds>& time) {
  return time ? Json(time->count()) : Json();
}

std::string line_of(const Json& value) {
  return value.dump(-1, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace mortise::tool
