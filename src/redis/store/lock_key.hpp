// SPDX-License-Identifier: MIT
// The key of a lock: its name inside a hash tag, so that a cluster keeps all keys of a lock
// together, and escaped, so that no name leaves the tag, nor the prefix. A key of `Once`, and a
// semaphore, have a sign behind the tag, where no name can put one: they and the lock of that name
// do not meet.
#pragma once

#include <mortise/operation.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

namespace mortise::redis {

/// @return `prefix{name}`, with '{', '}' and '%' of the name as %7B, %7D and %25.
[[nodiscard]] std::string lock_key(std::string_view prefix, std::string_view name);

/// @return what stands in a key for one of those three.
[[nodiscard]] constexpr std::string_view escape_of(char c) noexcept {
  return c == '{' ? "%7B" : c == '}' ? "%7D" : "%25";
}
/// Appends a name, escaped.
void append_escaped(std::string& out, std::string_view name);

/// Appends the key.
inline void append_lock_key(std::string& out, std::string_view prefix, std::string_view name) {
  out.reserve(out.size() + prefix.size() + name.size() + 2);
  out.append(prefix).push_back('{');
  // Part of every request: find_first_of() makes a call for each character.
  const auto escaped = [](char c) { return c == '{' || c == '}' || c == '%'; };
  if (std::none_of(name.begin(), name.end(), escaped)) {  // as nearly all
    out.append(name);
  } else {
    append_escaped(out, name);
  }
  out.push_back('}');
}

/// What the key of a key of `Once` ends in.
inline constexpr char once_sign = '!';
/// And that of a semaphore.
inline constexpr char permit_sign = '#';
/// @return the key of a lock, or of one of those.
[[nodiscard]] std::string redis_key(std::string_view prefix, std::string_view name, Mode mode);

/// @return the name of a lock's key; nothing where it is not one.
[[nodiscard]] std::optional<std::string> lock_name(std::string_view prefix, std::string_view key);

/// What the server says by one key.
struct Named {
  std::string name{};
  Mode mode = Mode::exclusive;
};
/// @return the name of a lock, of a key of `Once` or of a semaphore; nothing where it is none of
/// them.
[[nodiscard]] std::optional<Named> named_by(std::string_view prefix, std::string_view key);

}  // namespace mortise::redis
