// SPDX-License-Identifier: MIT
// What a store remembers of a key, what a caller may say about that, and what a run leaves: the
// nouns of `Once` that its users and the backends share.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace mortise {

/// What a key stands at.
enum class KeyState : std::uint8_t {
  absent,     ///< never begun, or forgotten
  pending,    ///< begun, and no outcome recorded: its runner is at work, or has died
  succeeded,  ///< the result stands
  failed,     ///< the reason stands
};

// GCC 12 warns of an enumerator that is called as something outside, although this one is scoped.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
/// Who runs a key that has an outcome already.
enum class Repeat : std::uint8_t {
  after_failure,  ///< a key that failed is run again; one that succeeded gives its result
  never,          ///< the first outcome stands, also a failure
  always,         ///< every caller runs: one at a time, and each sees that it is not the first
};
#pragma GCC diagnostic pop

/// The longest result or reason, in bytes.
inline constexpr std::size_t longest_outcome = 65'536;
/// The longest fingerprint, in bytes.
inline constexpr std::size_t longest_fingerprint = 128;

/// What a request to run a key says about the key's memory; shared by all requests of a handle.
struct Memory {
  /// Compared byte by byte with that of the record; an empty one is like any other.
  std::string fingerprint{};
  Repeat repeat = Repeat::after_failure;
  /// How long the store remembers the key: from its begin while it is pending (and as long as it
  /// is held in any case), from its conclusion afterwards.
  std::chrono::milliseconds keep{};
};

/// What the store remembers of a key.
struct Record {
  KeyState state = KeyState::absent;
  std::string bytes{};        ///< succeeded: the result; failed: the reason; else empty
  std::uint64_t run = 0;      ///< number of its last run: 1 for the first since it was absent
  std::uint64_t number = 0;   ///< of that run's grant
  std::string fingerprint{};  ///< of whoever began that run
  bool held = false;          ///< a runner whose lease is not over has it now
};

/// What a release writes about its key, in the same step that frees the key, for the live hold
/// only.
struct Conclusion {
  KeyState state = KeyState::succeeded;  ///< or `failed`
  std::string bytes{};                   ///< the result or the reason, up to `longest_outcome`
  std::uint64_t run = 0;                 ///< `Grant::run` of the hold
  std::shared_ptr<const Memory> memory;  ///< of the request that was granted; never null
  /// What the runner has written by itself, as a part of what may be undone yet: see `Run::note()`;
  /// null: nothing. A conclusion of the same state writes nothing then, it only asks for that.
  std::shared_ptr<const Record> written{};
};

}  // namespace mortise
