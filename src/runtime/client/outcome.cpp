// SPDX-License-Identifier: MIT
// What a record says to a caller.
#include <mortise/outcome.hpp>
#include <mortise/record.hpp>

#include "core/figures.hpp"

#include <cstddef>
#include <new>
#include <string>

namespace mortise {

namespace {

// Made when the library is loaded, before objects of its users, and never destroyed: a forked child
// may ask for it, and what is made on first use, or noted to be destroyed at the end, needs a lock
// that may be locked there for ever.
class Nothing {
 public:
  Nothing() noexcept : text_(::new (static_cast<void*>(room_)) std::string) {}
  [[nodiscard]] const std::string& text() const noexcept { return *text_; }

 private:
  alignas(std::string) std::byte room_[sizeof(std::string)] = {};
  const std::string* text_;
};
[[gnu::init_priority(200)]] const Nothing nothing;

}  // namespace

KeyState Outcome::state() const noexcept { return record_ ? record_->state : KeyState::absent; }

std::uint64_t Outcome::number() const noexcept { return record_ ? record_->run : 0; }

bool Outcome::running() const noexcept { return record_ && record_->held; }

Token Outcome::token() const noexcept {
  return record_ ? Token(record_->number * core::tokens_in_a_grant) : Token();
}

const std::string& Outcome::bytes_of(KeyState state) const noexcept {
  return record_ && record_->state == state ? record_->bytes : nothing.text();
}

}  // namespace mortise
