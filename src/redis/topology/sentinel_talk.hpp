// SPDX-License-Identifier: MIT
// One question to one sentinel: where is the master? By a connection of its own, which is closed
// with the answer.
#pragma once

#include <mortise/clock.hpp>
#include <mortise/error.hpp>

#include "base/address.hpp"
#include "redis/connection/reply_input.hpp"
#include "redis/store/settings.hpp"
#include "remote/stream/approach.hpp"
#include "remote/stream/tls.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

namespace mortise::redis {

/// The time of one address of a sentinel for each step of the connection. Three silent sentinels
/// take less time than a connection to a server may. Before that, the client resolves the name of
/// the sentinel, which may take as long as the name of a server.
inline constexpr std::chrono::milliseconds sentinel_time{400};

/// What a sentinel answered: where the master is, or why that is not known.
struct SentinelAnswer {
  base::Address master{};
  std::uint64_t epoch = 0;  ///< of the sentinels' configuration: each fail-over has a greater one
  Failure failure{};
};

/// It never blocks: whoever drives it polls its descriptor, and calls `advance()` when that is
/// ready, or at `due()`.
/// @thread_safety one thread at a time
class SentinelTalk {
 public:
  /// @param settings with sentinels; they and `tls`, which may be null, outlive it
  SentinelTalk(const Settings& settings, const remote::Tls* tls);
  ~SentinelTalk();

  /// Begins to ask; whom it asked before need not answer any more.
  void ask(const base::Address& sentinel, Instant now);
  /// @return the answer, once; nothing = not yet
  [[nodiscard]] std::optional<SentinelAnswer> advance(Instant now);
  void end() noexcept;

  [[nodiscard]] bool asks() const noexcept { return state_ != State::idle; }
  [[nodiscard]] int descriptor() const noexcept;
  [[nodiscard]] short interest() const noexcept;
  [[nodiscard]] Instant due() const noexcept;

 private:
  enum class State { idle, approaching, answering };
  enum class Step { authenticate, epoch, address };

  void come_closer(Instant now);
  void give_up_address(Failure why, Instant now);
  void say();
  void read(Instant now);
  [[nodiscard]] bool write();
  void take(const Reply& reply);
  void take_epoch(const Reply& reply);
  void take_address(const Reply& reply);
  void fail(Errc code, const std::string& words);
  void fail(Failure why);

  const Settings& settings_;
  State state_ = State::idle;
  base::Address sentinel_{};
  std::atomic<int> descriptor_{-1};
  remote::Approach approach_;
  std::unique_ptr<remote::Stream> stream_;
  ReplyInput input_;
  std::string out_;
  std::deque<Step> steps_;
  Instant until_ = never;
  SentinelAnswer answer_{};
  bool answered_ = false;
};

}  // namespace mortise::redis
