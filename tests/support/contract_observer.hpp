// SPDX-License-Identifier: MIT
// An observer that keeps the events that it receives.
#pragma once

#include <mortise/observer.hpp>

#include "support/eventually.hpp"

#include <algorithm>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace mortise::contract {

/// @thread_safety every member may be called concurrently.
class Record final : public Observer {
 public:
  enum class Kind {
    waits,
    wait_ended,
    granted,
    contended,
    renewed,
    lost,
    released,
    failed,
    wanted
  };
  struct Entry {
    Kind kind;
    std::string name;
    std::string label;
    Token token;
    std::chrono::nanoseconds took;
    Mode mode;
    Failure why{};
    Released outcome = Released::unknown;
  };

  void waits(const Event& event) noexcept override { add(Kind::waits, event); }
  void wait_ended(const Event& event, const Failure& why) noexcept override {
    add(Kind::wait_ended, event, why);
  }
  void granted(const Event& event) noexcept override { add(Kind::granted, event); }
  void contended(const Event& event) noexcept override { add(Kind::contended, event); }
  void renewed(const Event& event) noexcept override { add(Kind::renewed, event); }
  void lost(const Event& event, const Failure& why) noexcept override {
    add(Kind::lost, event, why);
  }
  void released(const Event& event, Released outcome) noexcept override {
    add(Kind::released, event, {}, outcome);
  }
  void failed(const Event& event, const Failure& why) noexcept override {
    add(Kind::failed, event, why);
  }
  void wanted(const Event& event) noexcept override { add(Kind::wanted, event); }

  [[nodiscard]] std::vector<Entry> all(Kind kind) const {
    const std::lock_guard lock(mutex_);
    std::vector<Entry> found;
    std::copy_if(entries_.begin(), entries_.end(), std::back_inserter(found),
                 [&](const Entry& entry) { return entry.kind == kind; });
    return found;
  }
  [[nodiscard]] std::size_t count(Kind kind) const { return all(kind).size(); }
  /// Waits until that event came this often.
  [[nodiscard]] bool told(Kind kind, std::size_t times) const {
    return test::eventually([&] { return count(kind) >= times; });
  }

 private:
  void add(Kind kind, const Event& event, const Failure& why = {},
           Released outcome = Released::unknown) noexcept {
    const std::lock_guard lock(mutex_);
    entries_.push_back({kind, std::string(event.name), std::string(event.label), event.token,
                        event.took, event.mode, why, outcome});
  }

  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
};

}  // namespace mortise::contract
