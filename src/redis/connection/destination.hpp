// SPDX-License-Identifier: MIT
// The server that a connection leads to.
#pragma once

#include "base/endpoint.hpp"

#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace mortise::redis {

/// @thread_safety every member may be called concurrently
class Destination {
 public:
  /// @param words for messages
  explicit Destination(std::string words) : words_(std::move(words)) {}

  [[nodiscard]] const std::string& words() const noexcept { return words_; }
  /// An endpoint to which the next connection must lead, and the name in its certificate.
  struct Exact {
    base::Endpoint endpoint{};
    std::string host{};
  };
  /// @param exact none = as the settings say
  void lead_to(std::optional<Exact> exact) {
    const std::lock_guard lock(mutex_);
    exact_.swap(exact);
  }
  [[nodiscard]] std::optional<Exact> exact() const {
    const std::lock_guard lock(mutex_);
    return exact_;
  }
  /// A connection was made to that server.
  void arrive(Exact at) {
    const std::lock_guard lock(mutex_);
    at_ = std::move(at);
  }
  /// @return the address of the last connection.
  [[nodiscard]] base::Endpoint endpoint() const {
    const std::lock_guard lock(mutex_);
    return at_.endpoint;
  }
  /// @return the name or number of that server.
  [[nodiscard]] std::string host() const {
    const std::lock_guard lock(mutex_);
    return at_.host;
  }

 private:
  const std::string words_;
  mutable std::mutex mutex_;
  std::optional<Exact> exact_;
  Exact at_;
};

}  // namespace mortise::redis
