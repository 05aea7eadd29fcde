// SPDX-License-Identifier: MIT
// The handlers that `Client::poll()` runs.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>

namespace mortise::runtime {

class Engine;
class PendingCall;
class ReadyList;

/// @thread_safety every member may be called concurrently; no handler runs under a mutex.
class Delivery {
 public:
  Delivery(Engine& engine, const ReadyList& ready) noexcept : engine_(engine), ready_(ready) {}
  ~Delivery() { drop(); }
  Delivery(const Delivery&) = delete;
  Delivery& operator=(const Delivery&) = delete;

  /// Needs no memory.
  void post(std::shared_ptr<PendingCall> call) noexcept;
  /// Runs handlers that were posted before. @return how many
  std::size_t run(std::size_t at_most) noexcept;
  /// @return whether handlers wait for `run()`.
  [[nodiscard]] bool waits() const noexcept;
  /// Destroys them, and those that are posted later: no call of `run()` follows.
  void drop() noexcept;

 private:
  /// @return false: it was dropped.
  [[nodiscard]] bool queue(const std::shared_ptr<PendingCall>& call) noexcept;
  [[nodiscard]] std::shared_ptr<PendingCall> take() noexcept;

  Engine& engine_;
  const ReadyList& ready_;
  mutable std::mutex mutex_;
  std::shared_ptr<PendingCall> first_;
  PendingCall* last_ = nullptr;
  std::size_t size_ = 0;
  bool dropped_ = false;
};

}  // namespace mortise::runtime
