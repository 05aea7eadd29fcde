// SPDX-License-Identifier: MIT
// What a record says to a caller.
#include <mortise/outcome.hpp>

#include "core/figures.hpp"

namespace mortise {

Token Outcome::token() const noexcept {
  return record_ ? Token(record_->number * core::tokens_in_a_grant) : Token();
}

const std::string& Outcome::bytes_of(KeyState state) const noexcept {
  static const std::string none;
  return record_ && record_->state == state ? record_->bytes : none;
}

}  // namespace mortise
