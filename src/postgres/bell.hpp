// SPDX-License-Identifier: MIT
// The freed names whose waiters are still to be notified. At commit, a NOTIFY waits for all other
// notifications of the server. So one request at a time notifies the waiters of all names that came
// in the meantime.
#pragma once

#include <mortise/operation.hpp>

#include "base/mutant.hpp"

#include <compare>
#include <cstddef>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

namespace mortise::postgres {

/// What was freed: the name of a lock, or a key.
struct Freed {
  Mode mode = Mode::exclusive;
  std::string name{};
  friend auto operator<=>(const Freed&, const Freed&) = default;
};

/// @thread_safety every member may be called concurrently.
class Bell {
 public:
  using Names = std::set<Freed>;

  /// Notifies the waiters of some names. No caller waits for the answer. If a request ends without
  /// `told()`, the next request has its names.
  class Wake final : public Operation {
   public:
    explicit Wake(Bell& bell) : bell_(bell) {}
    Wake(const Wake&) = delete;
    Wake& operator=(const Wake&) = delete;
    ~Wake() override {
      if (!is_told_) bell_.end(names_);
    }
    [[nodiscard]] const Names& names() const noexcept { return names_; }
    /// The server has answered it.
    void told() noexcept {
      if (std::exchange(is_told_, true)) return;
      Names none;
      bell_.end(none);
    }

   private:
    friend class Bell;
    Bell& bell_;
    Names names_;
    bool is_told_ = false;
  };

  /// A client may wait for a name that was freed.
  void freed(Freed name) {
    const std::lock_guard lock(mutex_);
    if (base::mutant("postgres.forget_names_freed_meanwhile") && under_way_) return;
    names_.insert(std::move(name));
  }
  /// @return the request to send now; null = one is under way, or no name was freed
  [[nodiscard]] std::shared_ptr<Wake> next() {
    // In one statement; its transaction reads a row for each.
    constexpr std::size_t most = 256;
    const std::lock_guard lock(mutex_);
    if (under_way_ || names_.empty()) return nullptr;
    auto wake = std::make_shared<Wake>(*this);
    under_way_ = true;
    while (!names_.empty() && wake->names_.size() < most) {
      wake->names_.insert(names_.extract(names_.begin()));
    }
    return wake;
  }
  /// @return true if names wait for the answer to the request that is under way.
  [[nodiscard]] bool keeps_some() const {
    const std::lock_guard lock(mutex_);
    return under_way_ && !names_.empty();
  }

 private:
  /// No request is under way. @param untold names for the next one
  void end(Names& untold) noexcept {
    const std::lock_guard lock(mutex_);
    if (!untold.empty() && base::mutant("postgres.forget_names_that_were_not_sent")) return;
    under_way_ = false;
    names_.merge(untold);
  }

  mutable std::mutex mutex_;
  Names names_;
  bool under_way_ = false;
};

}  // namespace mortise::postgres
