// SPDX-License-Identifier: MIT
// What callers ask the backend and then wait for, as long as they like.
#pragma once

#include "runtime/reader_role.hpp"

#include <mutex>

namespace mortise {
class Operation;
}

namespace mortise::runtime {

class ClientState;

/// In its client's list for as long as it lives: closing ends it, also where the backend was asked
/// only after it had stopped.
struct OpenRequest {
  OpenRequest(ClientState& state, Operation& asked) noexcept;
  ~OpenRequest();
  OpenRequest(const OpenRequest&) = delete;
  OpenRequest& operator=(const OpenRequest&) = delete;
  ClientState& client;
  Operation& operation;
  OpenRequest* before = nullptr;
  OpenRequest* after = nullptr;
};

/// @thread_safety every member may be called concurrently. The mutex is held while a request is
/// visited, since its caller may leave at any moment.
class OpenRequests {
 public:
  void add(OpenRequest& request) noexcept {
    const std::lock_guard lock(mutex_);
    list_.push_back(request);
  }
  void remove(OpenRequest& request) noexcept {
    const std::lock_guard lock(mutex_);
    list_.remove(request);
  }
  template <class Visit>
  void each(Visit visit) {
    const std::lock_guard lock(mutex_);
    for (OpenRequest* each = list_.first(); each != nullptr; each = each->after) {
      visit(each->operation);
    }
  }

 private:
  std::mutex mutex_;
  List<OpenRequest> list_;
};

}  // namespace mortise::runtime
