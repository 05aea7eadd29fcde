// SPDX-License-Identifier: MIT
// Calls that are to be made once more at a moment: who waits looks when the holder's lease ends,
// and what found a row locked comes again soon.
#pragma once

#include <mortise/backend.hpp>

#include "postgres/call.hpp"

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <unordered_map>

namespace mortise::postgres {

/// At most one call an operation, of the kind that was asked for last.
/// @thread_safety every member may be called concurrently.
class Later final : public Source {
 public:
  using Make = std::function<void(Call)>;
  /// @param make makes a call again
  explicit Later(Make make) : make_(std::move(make)) {}

  /// Has a call made then, or when it is due already if that is sooner. @return whether it is the
  /// next one of all: the host has to be told
  bool add(Call call, Instant when);

  [[nodiscard]] Instant due() const noexcept override {
    return Instant(Instant::duration(next_.load()));
  }
  void ready(short events, Instant now) override;

 private:
  using Calls = std::multimap<Instant, Call>;
  void note_next_locked();

  const Make make_;
  std::mutex mutex_;
  Calls calls_;
  std::unordered_map<const Operation*, Calls::iterator> places_;
  std::atomic<Instant::rep> next_{never.time_since_epoch().count()};
};

}  // namespace mortise::postgres
