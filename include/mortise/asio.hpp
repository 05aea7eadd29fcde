// SPDX-License-Identifier: MIT
// Asynchronous calls with the completion tokens of Asio 1.18 or newer: `mortise::asio_adapter`. The
// header is empty if `<asio.hpp>` is not installed.
//
// Asio before 1.24 finds the coroutines of Clang only with these two definitions:
// -DASIO_HAS_CO_AWAIT -DASIO_HAS_STD_COROUTINE. Without coroutines in Asio there is no `drive()`.
#pragma once

#include <mortise/pending.hpp>

#include <utility>

#if __has_include(<asio.hpp>)

#include <asio.hpp>
#include <system_error>

namespace mortise::asio_adapter::detail {

/// @return the same error for a handler of Asio.
inline std::error_code net_error_of(const std::error_code& error) noexcept { return error; }

}  // namespace mortise::asio_adapter::detail

#define MORTISE_ASIO ::asio
#define MORTISE_ASIO_ERROR std::error_code
#define MORTISE_ASIO_HAS_SLOTS (ASIO_VERSION >= 101900)
#ifdef ASIO_HAS_CO_AWAIT
#define MORTISE_ASIO_HAS_CO_AWAIT 1
#else
#define MORTISE_ASIO_HAS_CO_AWAIT 0
#endif
#define MORTISE_ASIO_ADAPTER asio_adapter
#include <mortise/asio_adapter.hpp>
#undef MORTISE_ASIO
#undef MORTISE_ASIO_ERROR
#undef MORTISE_ASIO_HAS_SLOTS
#undef MORTISE_ASIO_HAS_CO_AWAIT
#undef MORTISE_ASIO_ADAPTER

#endif
