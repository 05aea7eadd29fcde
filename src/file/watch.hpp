// SPDX-License-Identifier: MIT
// Tells at once when a file of the directory, or the directory itself, is deleted, moved or
// replaced. A help, not a guarantee: what it misses is found at the release of the hold.
#pragma once

#include <mortise/backend.hpp>
#include <mortise/clock.hpp>

#include "base/unique_fd.hpp"

#include <atomic>
#include <functional>
#include <string>
#include <utility>

namespace mortise::file {

/// One inotify descriptor a client, made with its first hold.
///
/// @thread_safety `arm()`, `armed()` and `stop()` may be called concurrently; the rest is the
/// source's.
class Watch final : public Source {
 public:
  /// @param changed called on the thread that polls, after files may have gone
  Watch(std::string directory, std::function<void()> changed)
      : directory_(std::move(directory)), changed_(std::move(changed)) {}

  /// Begins to watch, unless it does already. @return whether it has begun now: what happened
  /// before is not told
  [[nodiscard]] bool arm(Host& host) noexcept;
  /// @return whether it watches.
  [[nodiscard]] bool armed() const noexcept { return state_.load() == State::armed; }
  /// Ends it for ever.
  void stop(Host& host) noexcept;

  [[nodiscard]] int descriptor() const noexcept override { return fd_.get(); }
  [[nodiscard]] short interest() const noexcept override;
  void ready(short events, Instant now) override;

 private:
  enum class State { idle, arming, armed, stopped };
  [[nodiscard]] bool add(Host& host) noexcept;

  const std::string directory_;
  const std::function<void()> changed_;
  std::atomic<State> state_{State::idle};
  std::atomic<Instant::rep> retry_at_{0};
  // Written while the state is `arming` only, by the one thread that brought it there.
  base::UniqueFd fd_;
  bool attached_ = false;
};

}  // namespace mortise::file
