// SPDX-License-Identifier: MIT
// Asynchronous calls with the completion tokens of Boost.Asio, from Boost 1.74 on:
// `mortise::boost_asio_adapter`. The header is empty if `<boost/asio.hpp>` is not installed.
#pragma once

#include <mortise/error.hpp>

#include <utility>  // Boost 1.74 does not include it

#if __has_include(<boost/asio.hpp>)

#include <boost/asio.hpp>
#include <boost/system/error_code.hpp>
#include <string>
#include <system_error>

namespace mortise::boost_asio_adapter {

// The base class of Boost has a protected or non-virtual destructor, and no category is destroyed
// through a pointer to it.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"
/// The errors of Mortise, for programs that compare codes of Boost.System.
class ErrorCategory final : public boost::system::error_category {
 public:
  const char* name() const noexcept override { return mortise::error_category().name(); }
  std::string message(int value) const override { return mortise::error_category().message(value); }
};
#pragma GCC diagnostic pop

inline const boost::system::error_category& error_category() noexcept {
  static const ErrorCategory category;
  return category;
}

namespace detail {

/// @return the same error for a handler of Boost.Asio.
inline boost::system::error_code net_error_of(const std::error_code& error) noexcept {
  if (!error) return {};
  const bool is_ours = error.category() == mortise::error_category();
  return {error.value(), is_ours ? error_category() : boost::system::system_category()};
}

}  // namespace detail
}  // namespace mortise::boost_asio_adapter

#define MORTISE_ASIO ::boost::asio
#define MORTISE_ASIO_ERROR boost::system::error_code
#define MORTISE_ASIO_HAS_SLOTS (BOOST_ASIO_VERSION >= 101900)
#ifdef BOOST_ASIO_HAS_CO_AWAIT
#define MORTISE_ASIO_HAS_CO_AWAIT 1
#else
#define MORTISE_ASIO_HAS_CO_AWAIT 0
#endif
#define MORTISE_ASIO_ADAPTER boost_asio_adapter
#include <mortise/asio_adapter.hpp>
#undef MORTISE_ASIO
#undef MORTISE_ASIO_ERROR
#undef MORTISE_ASIO_HAS_SLOTS
#undef MORTISE_ASIO_HAS_CO_AWAIT
#undef MORTISE_ASIO_ADAPTER

#endif
