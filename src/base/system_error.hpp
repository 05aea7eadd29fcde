// SPDX-License-Identifier: MIT
// What an errno means for a caller: the one place that knows which limits of the machine there are.
#pragma once

#include <mortise/error.hpp>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <string_view>
#include <system_error>

namespace mortise::base {

/// A limit of the process, of its user, of the machine or of a file system: descriptors, memory,
/// buffers of the network, inotify watches, disk space, a disk quota, the size of a file, locks.
/// Each passes when something else is closed or deleted.
inline constexpr int limits[] = {EMFILE, ENFILE, ENOMEM, ENOBUFS, ENOSPC, EDQUOT, EFBIG, ENOLCK};

/// @return whether the errno is that of a limit.
[[nodiscard]] inline bool is_limit(int error) noexcept {
  return std::find(std::begin(limits), std::end(limits), error) != std::end(limits);
}

/// @return `exhausted` for a limit. Whoever knows a better code for another errno asks that first.
[[nodiscard]] inline Errc errc_of(int error, Errc otherwise = Errc::unavailable) noexcept {
  return is_limit(error) ? Errc::exhausted : otherwise;
}

/// The same where only the words of a C library are left: they end with those of the errno.
[[nodiscard]] inline Errc errc_of_words(std::string_view words) {
  const bool limit = std::any_of(std::begin(limits), std::end(limits), [&](int error) {
    return words.find(std::generic_category().message(error)) != std::string_view::npos;
  });
  return limit ? Errc::exhausted : Errc::unavailable;
}

}  // namespace mortise::base
