// SPDX-License-Identifier: MIT
// Words and predicates of the error codes.
#include <mortise/error.hpp>

#include "base/printable.hpp"

#include <utility>

namespace mortise {
namespace {

class Category final : public std::error_category {
 public:
  [[nodiscard]] const char* name() const noexcept override { return "mortise"; }
  [[nodiscard]] std::string message(int value) const override {
    switch (static_cast<Errc>(value)) {
      case Errc::timeout: return "not free within the time limit";
      case Errc::cancelled: return "the wait was cancelled";
      case Errc::unavailable: return "the lock store cannot be reached";
      case Errc::denied: return "the credentials, a permission or a certificate was refused";
      case Errc::lost: return "the hold was lost";
      case Errc::not_owner: return "the caller does not hold the lock";
      case Errc::in_doubt: return "no reply: the request may or may not have taken effect";
      case Errc::misconfigured: return "misconfigured";
      case Errc::unsupported: return "not supported";
      case Errc::protocol: return "the lock store contains or returned data that is not a lock";
      case Errc::exhausted: return "a resource limit was reached";
      case Errc::closed: return "the client is closed";
      case Errc::mismatch: return "the key is remembered with a different fingerprint";
    }
    return "unknown error " + std::to_string(value);
  }
};

// Made before the program starts, and never destroyed. What is made on first use is guarded by a
// lock, and its end is noted under one of the C library's; in a forked child either may be locked
// for ever, and what the child asks for first is the category of its error.
union Kept {
  constexpr Kept() noexcept : category() {}
  ~Kept() {}  // NOLINT(modernize-use-equals-default): the default one is deleted
  Category category;
};
constinit const Kept kept;

bool is(const std::error_code& code, Errc errc) noexcept { return code == make_error_code(errc); }

std::string prefix(const Failure& failure) {
  // std::system_error appends ": " and the category's message.
  return failure.text.empty() ? std::string("mortise") : base::printable(failure.text);
}

}  // namespace

const std::error_category& error_category() noexcept { return kept.category; }

bool is_retryable(const std::error_code& code) noexcept {
  return is(code, Errc::timeout) || is(code, Errc::unavailable) || is(code, Errc::in_doubt) ||
         is(code, Errc::exhausted);
}

bool is_ambiguous(const std::error_code& code) noexcept { return is(code, Errc::in_doubt); }

bool is_contention(const std::error_code& code) noexcept {
  return is(code, Errc::timeout) || is(code, Errc::cancelled);
}

Failure::Failure(Errc errc, std::string words)
    : code(make_error_code(errc)), text(base::printable(std::move(words))) {}

std::string Failure::words() const {
  if (!code) return {};
  // The text may have grown since it was made.
  return text.empty() ? code.message() : base::printable(text) + ": " + code.message();
}

Error::Error(const Failure& failure) : std::system_error(failure.code, prefix(failure)) {}
Error::Error(const Error&) noexcept = default;
Error::~Error() = default;
Errc Error::errc() const noexcept { return static_cast<Errc>(code().value()); }

}  // namespace mortise
