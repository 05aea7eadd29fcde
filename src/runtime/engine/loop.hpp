// SPDX-License-Identifier: MIT
// A client of `Drive::program`: it has no thread, so the program's event loop does what the threads
// of other clients do.
#pragma once

#include "runtime/call/delivery.hpp"
#include "runtime/engine/loop_descriptor.hpp"

#include <atomic>
#include <cstddef>
#include <memory>

namespace mortise::runtime {

class ClientState;

/// @thread_safety every member may be called concurrently. Of several threads that look at the same
/// time one does, and the others return at once.
class Loop {
 public:
  explicit Loop(ClientState& client);
  [[nodiscard]] int descriptor() const noexcept { return descriptor_->get(); }
  [[nodiscard]] Delivery& delivery() noexcept { return delivery_; }
  /// `Client::poll()`.
  std::size_t poll(std::size_t at_most) noexcept;
  /// Reads what has come, does what is due, and steps calls. Runs no code of the program.
  /// @return false: it could not, because another thread does, or in a forked child
  bool look() noexcept;
  /// Reports losses and news to the program, in the calling thread. @return whether there was one
  bool notify() noexcept;

 private:
  [[nodiscard]] bool look_once();
  /// @return whether the program's code waits for `poll()`.
  [[nodiscard]] bool has_code_to_run() const noexcept;

  ClientState& client_;
  const std::unique_ptr<LoopDescriptor> descriptor_;
  Delivery delivery_;
  // Not mutexes: code of the program may come here again on the same thread.
  std::atomic<bool> polling_{false};
  std::atomic<bool> looking_{false};
};

}  // namespace mortise::runtime
