// SPDX-License-Identifier: MIT
// The shared hold of one client and name, and who has a part in it: which of the client's readers
// may join without asking the server, and when the server is to be asked whether they may go on.
#pragma once

#include "core/hold.hpp"
#include "core/owner_list.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

namespace mortise::core {

/// How long one client may pass a name among its own threads, or have them join its shared hold,
/// before it looks whether others wait.
struct TurnLimits {
  Nanos time = std::chrono::milliseconds(5);
  std::uint32_t passes = longest_turn;
};

/// One owner's part in a shared hold.
struct Sharer {
  Owner owner;
  std::size_t depth = 1;  ///< how often it has yet to unlock
  Instant since{};
  std::shared_ptr<const Terms> terms{};
  std::unique_ptr<LossNotice> notice{};  ///< null until the owner asks for the token
  std::uint32_t guards = 0;  ///< how many of those unlocks a `Guard` owes, on whichever thread
  Instant until = never;     ///< its part is lost then: nobody can unlock it any more
  OwnerPlace<Sharer> place{};
};

/// @return what that owner had, as a hold of its own, which reports no loss.
[[nodiscard]] Hold part_of(const Hold& shared, const Sharer& sharer);

/// The parts of a shared hold, in order of arrival. To add, remove or find a part takes the same
/// time for any number of them.
class Parts {
 public:
  Parts() = default;
  Parts(Parts&&) noexcept = default;
  Parts& operator=(Parts&&) noexcept = default;
  ~Parts() {
    while (!list_.empty()) static_cast<void>(take(*list_.front()));
  }
  /// @throws std::bad_alloc; the first part needs no memory
  void add(std::unique_ptr<Sharer> part) {
    list_.push_back(*part);
    static_cast<void>(part.release());  // the list keeps it
  }
  [[nodiscard]] std::unique_ptr<Sharer> take(Sharer& part) noexcept {
    list_.remove(part);
    return std::unique_ptr<Sharer>(&part);
  }
  [[nodiscard]] const OwnerList<Sharer>& list() const noexcept { return list_; }
  [[nodiscard]] Sharer* find(Owner owner) const noexcept {
    return list_.find(owner, [](const Sharer&) { return true; });
  }

 private:
  OwnerList<Sharer> list_;
};

/// A live shared hold. The server knows nothing of who has a part in it, nor how many do.
///
/// A writer at the server waits for the last of them, so they must not come for ever. That one
/// waits is told by renewals; a newcomer that finds the last news older than a turn has one sent,
/// where none is under way. So newcomers keep a writer waiting for a turn and two round trips at
/// most; or, where a round trip takes longer than a turn, for three.
///
/// A renewal may keep others out while it is carried out: PostgreSQL's row is locked until its
/// flush. One right behind the other, whoever reads elsewhere could not even give up its part.
class Sharers {
 public:
  /// Has room for a hold with one owner: that needs no memory then.
  Sharers() : first_(std::make_unique<Sharer>()) {}
  /// @param hold its owner is the first one
  void begin(Hold&& hold) noexcept;

  [[nodiscard]] Hold& hold() noexcept { return hold_; }
  [[nodiscard]] const Hold& hold() const noexcept { return hold_; }
  [[nodiscard]] Sharer* find(Owner owner) const noexcept { return parts_.find(owner); }
  [[nodiscard]] const OwnerList<Sharer>& all() const noexcept { return parts_.list(); }
  /// That part is over. @return the part
  std::unique_ptr<Sharer> leave(Sharer& part) noexcept;
  /// The hold is over. @return all parts
  [[nodiscard]] Parts take_parts() noexcept { return std::move(parts_); }

  /// @return whether an owner that comes now may join, under its own terms.
  [[nodiscard]] bool open_to(const Terms& terms, Instant now,
                             const TurnLimits& turn) const noexcept;
  /// Throws where there is no memory: then it has not.
  void join(Owner owner, const std::shared_ptr<const Terms>& terms, Instant now);
  /// Somebody has come who would join, or has. @return whether a renewal is to be sent for news.
  bool wants_news(Instant now, const TurnLimits& turn) noexcept;
  /// Others wait here for as long as they are kept out. @return whether a renewal is to be sent for
  /// news: whoever waited at the server may have given up, which no server tells.
  bool wants_news_for_waiters(Instant now) noexcept;
  /// @return when they are to be looked after next, but for what is told meanwhile.
  [[nodiscard]] Instant next_look(Instant now) const noexcept;
  /// What a renewal has told, or the server by itself.
  /// @param as_of not later than the server said it
  void told(bool wanted, Instant as_of) noexcept;
  /// A renewal has come back, whatever it has told: of news that are older than those known, or of
  /// none, no others are on their way all the same.
  void answered(Instant now) noexcept;
  /// The exclusive hold beside it is kept for nobody until then: so long nobody joins.
  void kept_until(Instant until) noexcept { opens_ = until; }
  /// Where nobody can unlock a part any more, it ends when the hold would, had it not been renewed
  /// since for those who can; where that is so of all, it is not.
  template <class Ownerless>
  void disown(Instant now, Ownerless ownerless) noexcept {
    bool all = true;
    for (Sharer* const sharer : parts_.list()) {
      const bool disowned = ownerless(*sharer);
      if (disowned) sharer->until = std::min(sharer->until, hold_.lease.end_unrenewed(now));
      next_end_ = std::min(next_end_, sharer->until);
      all = all && disowned;
    }
    if (all) hold_.lease.disown(now);
  }
  /// @return when the first of such parts ends.
  [[nodiscard]] Instant next_end() const noexcept { return next_end_; }

 private:
  /// Whether it ends however often it is renewed, or is not.
  [[nodiscard]] bool ends_by_itself() const noexcept {
    return !hold_.terms->renew || hold_.terms->max_hold != Nanos::max();
  }

  Hold hold_;
  Parts parts_;
  std::unique_ptr<Sharer> first_;  // until the hold begins
  Instant next_end_ = never;
  bool wanted_ = false;      // somebody waits at the server whom this keeps out
  Instant news_{};           // as of when that was known last
  Instant asked_{};          // a renewal was sent for it
  bool under_way_ = false;   // that one
  Nanos took_{};             // one before, from there to its answer
  std::uint32_t joins_ = 0;  // since then
  Instant opens_{};          // nobody joins sooner
};

}  // namespace mortise::core
