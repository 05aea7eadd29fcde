// SPDX-License-Identifier: MIT
// The public enumerations as text: each value is written as its enumerator is.
#include <mortise/capabilities.hpp>
#include <mortise/error.hpp>
#include <mortise/holder.hpp>
#include <mortise/mode.hpp>
#include <mortise/record.hpp>

namespace mortise {
namespace {

// Of a value that is none of the enumerators.
constexpr std::string_view no_name = "unknown value";

}  // namespace

std::string_view to_string(Errc code) noexcept {
  switch (code) {
    case Errc::timeout: return "timeout";
    case Errc::cancelled: return "cancelled";
    case Errc::unavailable: return "unavailable";
    case Errc::denied: return "denied";
    case Errc::lost: return "lost";
    case Errc::not_owner: return "not_owner";
    case Errc::in_doubt: return "in_doubt";
    case Errc::misconfigured: return "misconfigured";
    case Errc::unsupported: return "unsupported";
    case Errc::protocol: return "protocol";
    case Errc::exhausted: return "exhausted";
    case Errc::closed: return "closed";
    case Errc::mismatch: return "mismatch";
  }
  return no_name;
}

std::string_view to_string(KeyState state) noexcept {
  switch (state) {
    case KeyState::absent: return "absent";
    case KeyState::pending: return "pending";
    case KeyState::succeeded: return "succeeded";
    case KeyState::failed: return "failed";
  }
  return no_name;
}

std::string_view to_string(Mode mode) noexcept {
  switch (mode) {
    case Mode::exclusive: return "exclusive";
    case Mode::once: return "once";
    case Mode::shared: return "shared";
    case Mode::permit: return "permit";
  }
  return no_name;
}

std::string_view to_string(Released outcome) noexcept {
  switch (outcome) {
    case Released::released: return "released";
    case Released::was_lost: return "was_lost";
    case Released::unknown: return "unknown";
  }
  return no_name;
}

std::string_view to_string(Repeat repeat) noexcept {
  switch (repeat) {
    case Repeat::after_failure: return "after_failure";
    case Repeat::never: return "never";
    case Repeat::always: return "always";
  }
  return no_name;
}

std::string_view to_string(Support support) noexcept {
  switch (support) {
    case Support::no: return "no";
    case Support::yes: return "yes";
    case Support::unknown: return "unknown";
  }
  return no_name;
}

}  // namespace mortise
