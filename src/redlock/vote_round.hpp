// SPDX-License-Identifier: MIT
// One round of an attempt: what each server has answered, and what that comes to. Pure: it neither
// sends nor looks at a clock.
#pragma once

#include <mortise/clock.hpp>

#include "redlock/quorum.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace mortise::redlock {

/// The fencing number. Each server gives the larger of the proposal and one more than all it gave
/// before, so that any number that was granted with a majority behind it is smaller than the
/// largest of a later majority's. A grant needs a majority that remembers its number: where the
/// votes disagree, the largest is written to the others first (`settle`).
class VoteRound {
 public:
  enum class Outcome {
    open,    ///< wait for more answers
    settle,  ///< a majority voted for us, with different numbers: see `settle()`
    won,     ///< the hold is ours, with `number()`, counted from `counted_from()`
    lost,    ///< no majority can come of this round, and a majority has said so, or nobody is left
  };
  explicit VoteRound(Quorum quorum);

  /// A new round; nobody was asked yet.
  void begin();
  /// A server is asked, perhaps once more.
  void asked(std::size_t node) noexcept { asked_ |= only(node); }
  /// It voted for us. @param since our clock before it was asked
  void granted(std::size_t node, std::uint64_t number, Instant since);
  /// Somebody else has it there. @param holder the number of its hold; 0 = nobody, it stepped back
  /// @param others who has it as well: readers
  void refused(std::size_t node, std::uint64_t holder, std::chrono::microseconds left,
               std::vector<std::uint64_t> others = {});
  /// There will be no answer; also for one that has not answered `settle()`.
  void silent(std::size_t node);
  /// Its hold has that number now.
  void settled(std::size_t node, std::uint64_t number) { numbers_[node] = number; }

  [[nodiscard]] Outcome outcome() const noexcept;
  /// Decides on the number. @return the servers whose hold has another one
  NodeSet settle();

  [[nodiscard]] std::uint64_t number() const noexcept;
  [[nodiscard]] Instant counted_from() const noexcept;
  /// Those whose answer is awaited.
  [[nodiscard]] NodeSet open() const noexcept { return asked_; }
  [[nodiscard]] NodeSet votes() const noexcept { return granted_; }
  [[nodiscard]] NodeSet against() const noexcept { return refused_; }

  /// Whether one other owner may have a majority, so that it is that owner's turn to act.
  [[nodiscard]] bool held_elsewhere() const noexcept;
  /// Whose word that it may be free is worth a round at once: where a majority names one owner, not
  /// that of the servers that have named another one, or voted. Those votes help nobody: those who
  /// wait would take them in turn, and each that gives them back would have the next one told. Who
  /// has not answered counts, since a round is over with the answers of any majority.
  [[nodiscard]] NodeSet worth_hearing() const noexcept;
  /// Who refused with that owner: the one whom most servers name.
  [[nodiscard]] NodeSet holders_nodes() const noexcept;
  /// @return how long, counted from the quorum request, until the leases of so many others have
  /// ended that a majority is free; nothing = not known.
  [[nodiscard]] std::optional<std::chrono::microseconds> free_in() const;

 private:
  [[nodiscard]] NodeSet with_number(std::uint64_t number) const noexcept;
  [[nodiscard]] NodeSet that_name(std::uint64_t holder) const noexcept;
  [[nodiscard]] std::span<const std::uint64_t> others_at(std::size_t node) const noexcept;

  Quorum quorum_;
  NodeSet asked_ = 0;
  NodeSet granted_ = 0;
  NodeSet refused_ = 0;
  std::uint64_t decided_ = 0;           // the number, once there was a reason to decide on one
  std::vector<std::uint64_t> numbers_;  // of our hold, or the holder's
  std::vector<std::vector<std::uint64_t>> others_;  // beside that; empty = of nobody
  std::vector<Instant> since_;
  std::vector<std::chrono::microseconds> left_;
};

}  // namespace mortise::redlock
