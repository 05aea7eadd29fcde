// SPDX-License-Identifier: MIT
// What client processes asked about keys of `Once`, said of them and were told, and when: beside
// the history of their holds (recorder.hpp), in a file of the same kind. It judges nothing: see
// keys_checker.hpp.
#pragma once

#include <mortise/outcome.hpp>

#include "model/history.hpp"
#include "model/temporary.hpp"
#include "support/contract_process.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <type_traits>
#include <vector>

namespace mortise::model {

enum class KeyStep : std::uint8_t {
  asked = 1,   // before the call
  begun,       // it is to run the key
  told,        // it is not, and was told this
  concluding,  // a runner is about to say what came of it
  concluded,   // and knows whether that is recorded
};

enum class KeyWord : std::uint8_t {
  none,
  absent,
  pending,
  succeeded,  // told; or about to be said
  failed,     // the same
  mismatch,   // told: it belongs to another request
  recorded,   // of a conclusion
  lost,       // the same: it is not, and never will be
  unknown,    // neither
};

// How a call was made.
struct KeyManner {
  bool looks : 1 = false;          // never runs
  bool waits : 1 = false;          // or may be stopped: `pending` says nothing of the key then
  bool other_request : 1 = false;  // its fingerprint is not that of the key
};

// One event: as large as those of holds, and committed as they are.
struct KeyEvent {
  std::int64_t time = 0;
  std::uint64_t op = 0;      // of the call that it belongs to; never 0
  std::uint64_t token = 0;   // of the run that begins, or that is told of
  std::uint64_t number = 0;  // the same
  std::uint64_t digest = 0;  // of the bytes of the outcome
  std::uint32_t bytes = 0;   // how many
  std::uint32_t key = 0;
  std::uint32_t process = 0;
  std::uint32_t owner = 0;
  KeyStep step{};
  KeyWord word{};
  KeyManner manner{};
  std::uint8_t reserved = 0;
  std::uint32_t slot = 0;  // as Event::slot
};
static_assert(sizeof(KeyEvent) == sizeof(Event) && std::is_trivially_copyable_v<KeyEvent>);
static_assert(offsetof(KeyEvent, op) == offsetof(Event, op) &&
              offsetof(KeyEvent, slot) == offsetof(Event, slot));

[[nodiscard]] std::uint64_t digest_of(std::string_view bytes) noexcept;

// What all that follows of a call has from it.
struct KeyCall {
  std::uint64_t op = 0;
  std::uint32_t key = 0;
  std::uint32_t process = 0;
  std::uint32_t owner = 0;
};

// All processes of a run share it. Which keys are used is in it, too: a few at a time, each until
// enough callers were told what came of it; earlier ones are asked for now and then.
class KeyBook {
 public:
  static constexpr std::uint32_t most_keys = 1U << 16;
  static constexpr std::uint32_t window = 3;

  KeyBook(std::uint32_t keys, std::uint64_t events);

  // Before a call, and after it: `begun()`, or `told()`, or nothing where it failed.
  [[nodiscard]] KeyCall ask(const KeyCall& caller, KeyManner manner, std::int64_t now);
  void begun(const KeyCall& call, std::uint64_t token, std::uint64_t number, std::int64_t now);
  void told(const KeyCall& call, const mortise::Outcome& outcome, std::int64_t now);
  void told_mismatch(const KeyCall& call, std::int64_t now);
  // By a runner, before it says it, and when it knows: `recorded`, `lost` or `unknown`.
  void concluding(const KeyCall& call, KeyState state, std::string_view bytes, std::int64_t now);
  void concluded(const KeyCall& call, KeyWord word, std::int64_t now);

  [[nodiscard]] std::vector<KeyEvent> read() const;
  [[nodiscard]] std::uint64_t refused() const noexcept { return file_.refused(); }

  // The oldest of those keys that are used now.
  [[nodiscard]] std::uint32_t front() const noexcept { return pages_->front.load(); }
  // True if a caller knows of a run of that key. Before that, the store may forget the key again,
  // because it undoes a run that no caller knows.
  [[nodiscard]] bool has_begun(std::uint32_t key) const noexcept {
    return pages_->begun[key].load();
  }
  // Somebody was told an outcome that stands.
  void settled(std::uint32_t key) noexcept;

 private:
  struct Pages {
    std::atomic<std::uint32_t> front{0};
    std::array<std::atomic<std::uint32_t>, most_keys> told{};
    std::array<std::atomic<bool>, most_keys> begun{};
  };

  std::uint64_t append(KeyEvent event);

  const std::uint32_t keys_;
  const TemporaryDirectory directory_;
  HistoryFile file_;
  contract::Shared<Pages> pages_;
};

}  // namespace mortise::model
