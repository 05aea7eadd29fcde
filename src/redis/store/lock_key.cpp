// SPDX-License-Identifier: MIT
// The escapes by which a name of any bytes stays inside its hash tag, and the way back.
#include "redis/store/lock_key.hpp"

#include <utility>

namespace mortise::redis {

std::string lock_key(std::string_view prefix, std::string_view name) {
  std::string key;
  append_lock_key(key, prefix, name);
  return key;
}

std::string redis_key(std::string_view prefix, std::string_view name, Mode mode) {
  std::string key = lock_key(prefix, name);
  if (mode == Mode::once) key.append(1, once_sign);
  if (mode == Mode::permit) key.append(1, permit_sign);
  return key;
}

void append_escaped(std::string& out, std::string_view name) {
  for (const char c : name) {
    if (c == '{' || c == '}' || c == '%') {
      out += escape_of(c);
    } else {
      out += c;
    }
  }
}

std::optional<std::string> lock_name(std::string_view prefix, std::string_view key) {
  if (!key.starts_with(prefix)) return std::nullopt;
  key.remove_prefix(prefix.size());
  if (key.size() < 3 || key.front() != '{' || key.back() != '}') return std::nullopt;
  key = key.substr(1, key.size() - 2);
  std::string name;
  while (!key.empty()) {
    const char c = key.front();
    if (c != '%') {
      if (c == '{' || c == '}') return std::nullopt;
      name += c;
      key.remove_prefix(1);
      continue;
    }
    const std::string_view code = key.substr(0, 3);
    if (code == "%7B") {
      name += '{';
    } else if (code == "%7D") {
      name += '}';
    } else if (code == "%25") {
      name += '%';
    } else {
      return std::nullopt;
    }
    key.remove_prefix(3);
  }
  return name;
}

std::optional<Named> named_by(std::string_view prefix, std::string_view key) {
  Named named;
  if (key.ends_with(once_sign)) named.mode = Mode::once;
  if (key.ends_with(permit_sign)) named.mode = Mode::permit;
  if (named.mode != Mode::exclusive) key.remove_suffix(1);
  std::optional<std::string> name = lock_name(prefix, key);
  if (!name) return std::nullopt;
  named.name = *std::move(name);
  return named;
}

}  // namespace mortise::redis
