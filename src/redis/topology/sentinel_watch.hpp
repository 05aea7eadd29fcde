// SPDX-License-Identifier: MIT
// Asks the sentinels now and then whether the master is still the same: one that was replaced may
// go on answering for seconds, as if nothing had happened.
#pragma once

#include <mortise/backend.hpp>

#include "redis/connection/connection.hpp"
#include "redis/topology/sentinels.hpp"
#include "remote/timer.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>

namespace mortise::redis {

/// Between two questions, while the master is there, and while it is not: then whoever waits for it
/// waits for the news.
inline constexpr std::chrono::milliseconds look_at_sentinels{1'000};
inline constexpr std::chrono::milliseconds look_for_news{250};

/// A source of its own, which the background thread sees to. It asks as long as the connection for
/// commands is up or wanted, one sentinel a time, in turn; where another master is named that
/// connection is given up, and made anew at once.
/// @thread_safety every member may be called concurrently.
class SentinelWatch final : public Source {
 public:
  /// @param settings, tls, sentinels, commands outlive it; tls may be null
  SentinelWatch(Host& host, const Settings& settings, const remote::Tls* tls, Sentinels& sentinels,
                Connection& commands);

  /// The connection came up, or was dropped: it is time to look from now on; and where it was
  /// dropped for another master, to connect to that one.
  void rouse();
  void close() noexcept;

  // Source
  [[nodiscard]] int descriptor() const noexcept override { return descriptor_.load(); }
  [[nodiscard]] short interest() const noexcept override { return interest_.load(); }
  [[nodiscard]] Instant due() const noexcept override { return due_.get(); }
  /// What it hears nobody awaits.
  [[nodiscard]] bool pushes() const noexcept override { return true; }
  void ready(short events, Instant now) override;

 private:
  /// A part of a question; at its end it is known what comes next.
  class Round {
   public:
    Round(SentinelWatch& watch, Instant now) noexcept : watch_(watch), now_(now) {}
    Round(const Round&) = delete;
    Round& operator=(const Round&) = delete;
    ~Round();

   private:
    SentinelWatch& watch_;
    const Instant now_;
  };

  [[nodiscard]] std::chrono::milliseconds pause() const noexcept;
  void show() noexcept;
  void heard(std::size_t sentinel, const SentinelAnswer& answer);

  Host& host_;
  const Settings& settings_;
  Sentinels& sentinels_;
  Connection& commands_;
  const std::shared_ptr<Clock> clock_;

  std::mutex mutex_;
  SentinelTalk talk_;
  std::size_t asked_ = 0;

  std::atomic<bool> moves_{false};
  std::atomic<int> descriptor_{-1};
  std::atomic<short> interest_{0};
  remote::Moment due_;
};

}  // namespace mortise::redis
