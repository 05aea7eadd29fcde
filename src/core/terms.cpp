// SPDX-License-Identifier: MIT
// What options may be, said in words that name the field.
#include "core/terms.hpp"

#include <algorithm>

namespace mortise::core {
namespace {

Failure wrong(const std::string& words) { return {Errc::misconfigured, words}; }

std::string ms(std::chrono::milliseconds value) { return std::to_string(value.count()) + " ms"; }

}  // namespace

Failure check(const LockOptions& options) {
  if (options.lease < shortest_lease || options.lease > longest_lease) {
    return wrong("LockOptions::lease is " + ms(options.lease) + "; it must be 100 ms to 24 h");
  }
  if (options.max_hold <= std::chrono::milliseconds(0)) {
    return wrong("LockOptions::max_hold is " + ms(options.max_hold) + "; it must be positive");
  }
  if (options.renew && options.max_hold < options.lease) {
    return wrong("LockOptions::max_hold (" + ms(options.max_hold) +
                 ") is shorter than LockOptions::lease (" + ms(options.lease) +
                 "), which leaves nothing to renew");
  }
  if (options.label.size() > longest_label) {
    return wrong("LockOptions::label has " + std::to_string(options.label.size()) +
                 " bytes; at most 128 are allowed");
  }
  // Labels are printed for operators: a line feed in one could forge a line of a log.
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (std::any_of(options.label.begin(), options.label.end(), control)) {
    return wrong("LockOptions::label holds a control character");
  }
  return {};
}

Failure check(const ClientOptions& options) {
  if (options.give_up < std::chrono::milliseconds(0)) {
    return wrong("ClientOptions::give_up is " + ms(options.give_up) + "; 0 means never");
  }
  if (options.turn < std::chrono::milliseconds(0)) {
    return wrong("ClientOptions::turn is " + ms(options.turn) + "; it must not be negative");
  }
  if (options.turn_handoffs > longest_turn) {
    return wrong("ClientOptions::turn_handoffs is " + std::to_string(options.turn_handoffs) +
                 "; at most 1000 fit into a token");
  }
  return {};
}

Failure check_name(std::string_view name) {
  if (name.empty()) return wrong("the lock's name is empty");
  if (name.size() > longest_name) {
    return wrong("the lock's name has " + std::to_string(name.size()) +
                 " bytes; at most 512 are allowed: " + std::string(name.substr(0, 32)) + "...");
  }
  return {};
}

}  // namespace mortise::core
