// SPDX-License-Identifier: MIT
// What options may be, said in words that name the field.
#include "core/terms.hpp"

#include "base/printable.hpp"

namespace mortise::core {
namespace {

Failure wrong(const std::string& words) { return {Errc::misconfigured, words}; }

std::string ms(std::chrono::milliseconds value) { return std::to_string(value.count()) + " ms"; }

/// @param of whose field it is: "LockOptions"
Failure check_lease(const std::string& of, std::chrono::milliseconds lease) {
  if (lease >= shortest_lease && lease <= longest_lease) return {};
  return wrong(of + "::lease is " + ms(lease) + "; it must be 100 ms to 24 h");
}

Failure check_label(const std::string& of, const std::string& label) {
  if (label.size() > longest_label) {
    return wrong(of + "::label has " + std::to_string(label.size()) +
                 " bytes; at most 128 are allowed");
  }
  // Labels are printed for operators: a line feed in one could forge a line of a log.
  if (!base::is_printable(label)) {
    return wrong(of +
                 "::label has a control character, an invisible character, or bytes that are "
                 "not UTF-8; only visible UTF-8 is allowed");
  }
  return {};
}

/// @param what it is: "the lock's name"
Failure check_length(const std::string& what, std::string_view name) {
  if (name.empty()) return wrong(what + " is empty");
  if (name.size() > longest_name) {
    return wrong(what + " has " + std::to_string(name.size()) +
                 " bytes; at most 512 are allowed: " + std::string(base::beginning_of(name, 32)) +
                 "...");
  }
  return {};
}

}  // namespace

Failure check(const LockOptions& options) {
  if (Failure lease = check_lease("LockOptions", options.lease)) return lease;
  if (options.max_hold <= std::chrono::milliseconds(0)) {
    return wrong("LockOptions::max_hold is " + ms(options.max_hold) + "; it must be positive");
  }
  if (options.renew && options.max_hold < options.lease) {
    return wrong("LockOptions::max_hold (" + ms(options.max_hold) +
                 ") is shorter than LockOptions::lease (" + ms(options.lease) +
                 "); raise it, or set renew to false");
  }
  if (options.mode != Mode::exclusive && options.mode != Mode::shared) {
    return wrong(
        "LockOptions::mode must be exclusive or shared; Client::make_once() makes keys, and "
        "Client::make_semaphore() makes permits");
  }
  if (options.min_hold < std::chrono::milliseconds(0) || options.min_hold > longest_lease) {
    return wrong("LockOptions::min_hold is " + ms(options.min_hold) + "; it must be 0 to 24 h");
  }
  if (options.max_hold < options.min_hold) {
    return wrong("LockOptions::max_hold (" + ms(options.max_hold) +
                 ") is shorter than LockOptions::min_hold (" + ms(options.min_hold) + ")");
  }
  if (options.mode == Mode::shared && options.min_hold > std::chrono::milliseconds(0)) {
    return wrong("LockOptions::min_hold is " + ms(options.min_hold) +
                 " with Mode::shared; min_hold needs Mode::exclusive");
  }
  return check_label("LockOptions", options.label);
}

Failure check(std::uint32_t permits, const LockOptions& options) {
  if (permits == 0 || permits > most_permits) {
    return wrong("the semaphore has " + std::to_string(permits) +
                 " permits; it must have 1 to 10,000");
  }
  if (options.mode != Mode::exclusive) {
    return wrong("LockOptions::mode must be exclusive for a semaphore");
  }
  if (options.min_hold != std::chrono::milliseconds(0)) {
    return wrong("LockOptions::min_hold is " + ms(options.min_hold) +
                 " for a semaphore; only locks have a min_hold");
  }
  return check(options);
}

Failure check(const OnceOptions& options) {
  if (Failure lease = check_lease("OnceOptions", options.lease)) return lease;
  if (options.keep < shortest_keep || options.keep > longest_keep) {
    return wrong("OnceOptions::keep is " + ms(options.keep) + "; it must be 1 s to 10 years");
  }
  if (options.fingerprint.size() > longest_fingerprint) {
    return wrong("OnceOptions::fingerprint has " + std::to_string(options.fingerprint.size()) +
                 " bytes; at most 128 are allowed");
  }
  return check_label("OnceOptions", options.label);
}

Failure check(const ClientOptions& options) {
  if (options.give_up < std::chrono::milliseconds(0)) {
    return wrong("ClientOptions::give_up is " + ms(options.give_up) +
                 "; it must not be negative (0 = never give up)");
  }
  if (options.turn < std::chrono::milliseconds(0)) {
    return wrong("ClientOptions::turn is " + ms(options.turn) + "; it must not be negative");
  }
  if (options.turn_handoffs > longest_turn) {
    return wrong("ClientOptions::turn_handoffs is " + std::to_string(options.turn_handoffs) +
                 "; at most 1000 are allowed");
  }
  return {};
}

Failure check_name(std::string_view name) { return check_length("the lock's name", name); }

Failure check_semaphore(std::string_view name) {
  return check_length("the semaphore's name", name);
}

Failure check_key(std::string_view key) { return check_length("the key", key); }

Failure check_outcome(std::string_view bytes) {
  if (bytes.size() <= longest_outcome) return {};
  return wrong("the result or reason has " + std::to_string(bytes.size()) +
               " bytes; at most 65,536 are allowed");
}

}  // namespace mortise::core
