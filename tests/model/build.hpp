// SPDX-License-Identifier: MIT
// How this test was built, where that changes what may be expected of it.
#pragma once

namespace mortise::model {

#if defined(__SANITIZE_THREAD__)  // GCC
inline constexpr bool under_thread_sanitizer = true;
#elif defined(__has_feature)  // Clang
inline constexpr bool under_thread_sanitizer = __has_feature(thread_sanitizer);
#else
inline constexpr bool under_thread_sanitizer = false;
#endif

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool under_address_sanitizer = true;
#elif defined(__has_feature)
inline constexpr bool under_address_sanitizer = __has_feature(address_sanitizer);
#else
inline constexpr bool under_address_sanitizer = false;
#endif

inline constexpr bool under_sanitizer = under_thread_sanitizer || under_address_sanitizer;

}  // namespace mortise::model
