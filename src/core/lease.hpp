// SPDX-License-Identifier: MIT
// The life of one hold's lease as decisions only: events and the time go in, what to do comes out.
#pragma once

#include <mortise/capabilities.hpp>
#include <mortise/clock.hpp>
#include <mortise/operation.hpp>

#include "core/terms.hpp"

namespace mortise::core {

/// Moves the renewals of a hold ahead, so that holds that began together are not renewed together.
class Spreading {
 public:
  Spreading() = default;
  /// @param part 0 to 1, evenly spread over the holds of a client
  explicit Spreading(double part) noexcept : part_(part) {}
  /// The holds have come together again.
  void restart() noexcept { left_ = steps; }
  /// A renewal is planned. @return by how much to move it: a quarter of this hold's part of
  /// `pause`, until the holds are spread over the whole pause between two renewals
  [[nodiscard]] Nanos next(Nanos pause) noexcept {
    if (left_ == 0) return Nanos(0);
    --left_;
    return Nanos(static_cast<Nanos::rep>(static_cast<double>(pause.count()) * part_)) / steps;
  }

 private:
  static constexpr std::uint8_t steps = 4;

  double part_ = 0;
  std::uint8_t left_ = steps;
};

/// Counts from before the request was sent, never from its reply (the server's count may have begun
/// at any time in between), and never comes back once it has lapsed.
class Lease {
 public:
  enum class State : std::uint8_t { held, jeopardy, lost };
  enum class Step : std::uint8_t { none, renew, lose };

  Lease() = default;
  /// @param spread 0 to 1: see `Spreading`
  Lease(const Terms& terms, const Grant& grant, SafetyMargin margin, Instant now, double spread);

  /// @return when the hold ends unless it is renewed; `never` where nothing ends it.
  [[nodiscard]] Instant deadline() const noexcept;
  [[nodiscard]] Nanos valid_for(Instant now) const noexcept;
  [[nodiscard]] State state() const noexcept { return state_; }
  /// @return whether it is the longest hold, not the server's lease, that ends it first.
  [[nodiscard]] bool ends_by_max_hold() const noexcept { return hold_end_ < lease_end_; }
  /// @return whether a renewal has left whose outcome is not known: the server may yet carry it
  /// out, and then keeps the hold for a whole lease more, also where the hold is lost by then.
  [[nodiscard]] bool in_doubt() const noexcept { return unconfirmed_ > 0; }
  /// @return the lease to ask for.
  [[nodiscard]] Nanos wanted() const noexcept { return wanted_; }
  /// @return when `tick()` has something to do next, or somebody is to look whether anybody can
  /// unlock it: there is always such a moment.
  [[nodiscard]] Instant next() const noexcept;

  /// @return how much sooner than `next()` a renewal may be sent, beside others that are due: holds
  /// that were taken one by one are to be renewed in batches.
  [[nodiscard]] Nanos early() const noexcept;
  /// The time has come. `renew`: send a renewal; `lose`: the hold is lost now.
  /// @param sooner up to `early()`
  Step tick(Instant now, Nanos sooner = Nanos(0)) noexcept;
  /// A renewal leaves that was not due: somebody wants to know what its answer tells beside.
  void asked_too(Instant now) noexcept;
  /// The server moved its deadline. @return false: too late, the hold is lost, and the server has
  /// to be told, since it has just renewed it.
  bool renewed(Instant counted_from, Nanos lease, Instant now) noexcept;
  /// A renewal was not answered, or failed: it is repeated inside the lease.
  void unanswered(Instant now) noexcept;
  /// The server does not know the hold any more.
  void refused() noexcept { state_ = State::lost; }
  /// Nobody is left to unlock it: it is not renewed any more. Where nothing ended it, it ends as it
  /// would have if it had been renewed when `tick()` came last.
  void disown(Instant now) noexcept;
  /// @return when it would end if it was disowned now.
  [[nodiscard]] Instant end_unrenewed(Instant now) const noexcept;
  [[nodiscard]] bool ownerless() const noexcept { return ownerless_; }
  /// @return whether the store keeps it for as long as its client lives: nothing ends it there.
  [[nodiscard]] bool unlimited() const noexcept { return lease_ == no_lease; }
  /// Whether enough is left to pass the hold on: half a lease, and no renewal overdue.
  [[nodiscard]] bool fit_to_pass(Instant now) const noexcept;
  /// It was passed on: the new owner has its longest hold before it.
  void passed(Instant now, Nanos max_hold) noexcept;

 private:
  void count(Instant counted_from, Nanos lease) noexcept;
  void put_in_jeopardy() noexcept;
  /// Between two looks at a hold that is not renewed, since its store has no leases.
  [[nodiscard]] Nanos pause_of_looks() const noexcept { return wanted_ / renewals_in_a_lease; }

  Nanos wanted_{};
  SafetyMargin margin_{};
  Spreading spreading_;
  Nanos lease_ = no_lease;
  Instant lease_end_ = never;
  Instant hold_end_ = never;
  Instant ask_at_ = never;
  // Renewals that left and were not confirmed: one whose answer was lost stays among them.
  std::uint32_t unconfirmed_ = 0;
  bool renews_ = true;
  bool asked_ = false;  // a renewal is on its way
  bool ownerless_ = false;
  State state_ = State::held;
};

}  // namespace mortise::core
