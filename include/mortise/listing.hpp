// SPDX-License-Identifier: MIT
// What administrators ask of a store: which names are held, who holds and who waits for one, and
// that a hold be ended. Nothing here authorises anybody to anything: it was so at one moment.
#pragma once

#include <mortise/export.hpp>
#include <mortise/holder.hpp>
#include <mortise/operation.hpp>
#include <mortise/token.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mortise {

/// The most names of one page, and the most holders or waiters of one queue.
inline constexpr std::size_t longest_page = 1'000;

/// One page of `Client::list()`.
struct ListOptions {
  /// Where to go on: `NamePage::cursor` of the page before; empty = at the beginning.
  std::string cursor{};
  /// The most names of the page, 1 to `longest_page`. A small one makes more round trips.
  std::size_t limit = 100;
  /// The longest wait for the page, > 0.
  std::chrono::nanoseconds wait = std::chrono::seconds(1);
};

/// Names that are held: each was, when its page was made.
struct NamePage {
  /// In no order that may be relied on; fewer than asked for, also none, where there are more.
  std::vector<std::string> names{};
  /// Held as well, of any prefix, but with names so long that the store keeps a part of them only:
  /// see its page. 0 where it keeps all.
  std::size_t too_long = 0;
  /// Where the next page begins; empty: this was the last one. Its bytes mean something to the
  /// store alone: keep it no longer than you read, and hand it back with the same prefix.
  std::string cursor{};
};

/// One look by `Client::queue()`.
struct QueueOptions {
  /// The most holders that are told, and the most waiters, 1 to `longest_page`.
  std::size_t limit = 100;
  /// The longest wait for the answer, > 0.
  std::chrono::nanoseconds wait = std::chrono::seconds(1);
};

/// Somebody who holds a name.
struct HolderEntry {
  std::string label{};          ///< as `Holder::label`
  Mode mode = Mode::exclusive;  ///< how it is held
  Token token{};                ///< of the grant, or 0 where the store does not tell
  /// How long it has held the name, by the store's clock; empty: unknown.
  std::optional<std::chrono::milliseconds> age{};
  /// End of its lease; empty: unknown, none.
  std::optional<std::chrono::milliseconds> expires_in{};
};

/// Somebody who waits for a name at the store: one of each client, whose other callers wait behind.
struct WaiterEntry {
  std::string label{};          ///< as `Holder::label`; empty where the store does not keep it
  Mode mode = Mode::exclusive;  ///< how it wants to hold the name
  /// How long it has waited, by the store's clock; empty: unknown.
  std::optional<std::chrono::milliseconds> age{};
  /// How long it has not been heard of: a waiter that lives asks each second. Empty: unknown.
  std::optional<std::chrono::milliseconds> silent_for{};
};

/// Who holds a name and who waits for it, at one moment.
struct NameQueue {
  std::vector<HolderEntry> holders{};  ///< empty = free
  std::vector<WaiterEntry> waiters{};  ///< who comes next first, where the store is fair
  /// All that wait, also those beyond `QueueOptions::limit`; empty: unknown, as where the store
  /// keeps no queue.
  std::optional<std::size_t> waiters_in_all{};
};

/// One `Client::force_release()`.
struct ForceOptions {
  /// The hold to be ended, by its token as `queue()` or `Lock::holder()` tells it, and no other:
  /// whoever follows in the meantime keeps the name. 0 = whoever holds the name then, all of them.
  Token of{};
  /// The longest wait for the answer, > 0.
  std::chrono::nanoseconds wait = std::chrono::seconds(1);
};

/// "Which names are held?", one page.
class MORTISE_API Listing : public Operation {
 public:
  Listing(std::string prefix, std::string cursor, std::size_t limit)
      : prefix_(std::move(prefix)), cursor_(std::move(cursor)), limit_(limit) {}
  /// What each name begins with, of any bytes; empty = all.
  [[nodiscard]] const std::string& prefix() const noexcept { return prefix_; }
  /// What the backend has put into the page before, or a stranger: to be looked at as such.
  [[nodiscard]] const std::string& cursor() const noexcept { return cursor_; }
  /// The most names, 1 to `longest_page`.
  [[nodiscard]] std::size_t limit() const noexcept { return limit_; }
  /// Completes it.
  void answered(NamePage page);
  /// @return the answer.
  [[nodiscard]] const NamePage& page() const noexcept { return page_; }

 private:
  std::string prefix_;
  std::string cursor_;
  std::size_t limit_;
  NamePage page_;
};

/// "Who holds this name, and who waits for it?"
class MORTISE_API QueueLook : public Operation {
 public:
  QueueLook(std::string name, std::size_t limit) : name_(std::move(name)), limit_(limit) {}
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// The most holders, and the most waiters.
  [[nodiscard]] std::size_t limit() const noexcept { return limit_; }
  /// Completes it.
  void answered(NameQueue queue);
  /// @return the answer.
  [[nodiscard]] const NameQueue& queue() const noexcept { return queue_; }

 private:
  std::string name_;
  std::size_t limit_;
  NameQueue queue_;
};

/// "End this hold, whoever has it." Answered as an inspection: with the hold that was ended, or
/// with nothing, where it was over or never there. Said again, because an answer was lost, it ends
/// no hold that came after the one that it has found.
class MORTISE_API ForcedRelease : public Inspection {
 public:
  explicit ForcedRelease(std::string name, Token of = {}) : Inspection(std::move(name)), of_(of) {}
  /// The hold that is meant, and no other; 0 = whichever is found.
  [[nodiscard]] Token of() const noexcept { return of_; }
  /// @return whether that hold is the one. Of a token the store knows the grant alone, and not how
  /// often it was passed on inside its client.
  [[nodiscard]] bool means(Token found) const noexcept;

 private:
  Token of_;
};

}  // namespace mortise
