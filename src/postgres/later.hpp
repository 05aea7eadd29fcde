// SPDX-License-Identifier: MIT
// Work that is due at a moment. A waiter asks again when the holder's lease ends. A call that found
// a row locked is repeated soon. A client looks for the hold of a lost request.
#pragma once

#include <mortise/backend.hpp>

#include "postgres/attempts.hpp"
#include "postgres/flight.hpp"
#include "remote/timer.hpp"

#include <algorithm>
#include <functional>
#include <mutex>
#include <unordered_map>

namespace mortise::postgres {

/// At most one call an operation, of the kind that was asked for last.
/// @thread_safety every member may be called concurrently.
class Later final : public Source {
 public:
  using Make = std::function<void(Flights)>;
  using Look = std::function<void(const Attempts::Operation&)>;
  /// @param make makes a call again: it is given one, alone
  /// @param tidy what is to be done at the moment of `tidy_at()`
  /// @param look looks what an attempt has at the server: see `Courses::begin_looks()`
  Later(Make make, std::function<void()> tidy, Attempts& attempts, Look look)
      : make_(std::move(make)),
        tidy_(std::move(tidy)),
        attempts_(attempts),
        look_(std::move(look)) {}

  /// Has a call made then, or when it is due already if that is sooner. @return whether it is the
  /// next one of all: the host has to be told
  /// @param call alone; it is taken only where there is memory for its place
  bool add(Flights&& call, Instant when);

  /// Has things tidied up then, unless that is to be done already. @return whether it is news
  bool tidy_at(Instant when);
  /// The same, and sooner if that is to be done later.
  void tidy_by(Instant when) { tidy_time_.bring_forward(when); }

  [[nodiscard]] Instant due() const noexcept override {
    return std::min({calls_.next(), tidy_time_.get(), attempts_.next_look()});
  }
  void ready(short events, Instant now) override;

 private:
  using Calls = remote::Timer<Flights>;

  const Make make_;
  const std::function<void()> tidy_;
  Attempts& attempts_;
  const Look look_;
  std::mutex mutex_;
  Calls calls_;
  std::unordered_map<const Operation*, Calls::Place> places_;
  remote::Moment tidy_time_;
};

}  // namespace mortise::postgres
