// SPDX-License-Identifier: MIT
// Requests that close() completes in the server's place.
#include "runtime/engine/open_requests.hpp"

#include "base/farewell.hpp"

namespace mortise::runtime {

OpenRequest::OpenRequest(OpenRequests& list, Operation& asked) noexcept
    : all(list), operation(asked) {
  all.add(*this);
}

OpenRequest::~OpenRequest() { all.remove(*this); }

void OpenRequests::add(OpenRequest& request) noexcept {
  const std::lock_guard lock(mutex_);
  list_.push_back(request);
  if (ended_) end(request.operation);
}

void OpenRequests::remove(OpenRequest& request) noexcept {
  const std::lock_guard lock(mutex_);
  list_.remove(request);
}

void OpenRequests::poke() noexcept {
  const std::lock_guard lock(mutex_);
  for (OpenRequest* each = list_.first(); each != nullptr; each = each->after) {
    each->operation.poke();
  }
}

void OpenRequests::end() noexcept {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  for (OpenRequest* each = list_.first(); each != nullptr; each = each->after) {
    end(each->operation);
  }
}

void OpenRequests::end(Operation& operation) const noexcept {
  base::farewell(operation, [this] { return store_; });
}

}  // namespace mortise::runtime
