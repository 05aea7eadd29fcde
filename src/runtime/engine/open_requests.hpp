// SPDX-License-Identifier: MIT
// What callers ask the backend and then wait for, as long as they like.
#pragma once

#include "runtime/engine/reader_role.hpp"

#include <mutex>
#include <string>

namespace mortise {
class Operation;
}  // namespace mortise

namespace mortise::runtime {

class OpenRequests;

/// In the list for as long as it lives: closing ends it, even if the backend was asked only after
/// the backend had stopped.
struct OpenRequest {
  OpenRequest(OpenRequests& list, Operation& asked) noexcept;
  ~OpenRequest();
  OpenRequest(const OpenRequest&) = delete;
  OpenRequest& operator=(const OpenRequest&) = delete;
  OpenRequests& all;
  Operation& operation;
  OpenRequest* before = nullptr;
  OpenRequest* after = nullptr;
};

/// @thread_safety every member may be called concurrently. The mutex is held while a request is
/// visited, since its caller may leave at any moment.
class OpenRequests {
 public:
  /// @param store its name, for messages; outlives this object
  explicit OpenRequests(const std::string& store) noexcept : store_(store) {}
  void add(OpenRequest& request) noexcept;
  void remove(OpenRequest& request) noexcept;
  /// Has the caller of each look again at the clock.
  void poke() noexcept;
  /// Completes each with `closed`, and at once those that come later.
  void end() noexcept;

 private:
  void end(Operation& operation) const noexcept;

  const std::string& store_;
  std::mutex mutex_;
  List<OpenRequest> list_;
  bool ended_ = false;
};

}  // namespace mortise::runtime
