// SPDX-License-Identifier: MIT
// The requests for an undecided attempt: whether one is under way, and when the next one leaves. It
// sends nothing.
#pragma once

#include <mortise/operation.hpp>

#include "base/mutant.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace mortise::postgres {

/// @thread_safety one thread at a time
class Waiter {
 public:
  /// The attempts that wait, by the names of which notifications speak.
  using Names = std::multimap<std::string, std::weak_ptr<Acquisition>, std::less<>>;
  /// Why an attempt has not got the lock yet.
  enum class InVain : std::uint8_t {
    told_later,  ///< a notification will come
    held,        ///< no notification will come, and it is not its turn
    locked,      ///< the row was locked: nothing is known
  };

  Waiter() = default;
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;
  ~Waiter() {
    if (names_ != nullptr) names_->erase(place_);
  }

  /// It waits for its name, until this is destroyed. @param names outlives this
  void wait(Names& names, const std::shared_ptr<Acquisition>& operation) {
    if (names_ != nullptr || !operation->request().wait) return;
    place_ = names.emplace(operation->request().name, operation);
    names_ = &names;
  }

  /// @return true if a request is under way.
  [[nodiscard]] bool is_asked() const noexcept { return under_way_ > 0; }
  /// A request leaves.
  void ask() noexcept {
    ++under_way_;
    gives_way_ = false;
  }
  /// One of them was answered, was lost, or did not leave.
  void arrive() noexcept {
    if (under_way_ > 0) --under_way_;
  }

  /// Other clients ask before it. No release is reported to it until it has asked.
  void give_way() noexcept { gives_way_ = true; }
  [[nodiscard]] bool gives_way() const noexcept { return gives_way_; }
  /// Its caller's time is up. @return true if it gave way until now: it asks once, and waits for
  /// the answer only
  [[nodiscard]] bool ask_last() noexcept {
    if (!std::exchange(gives_way_, false)) return false;
    return asks_last_ = true;
  }
  [[nodiscard]] bool asks_last() const noexcept { return asks_last_; }

  /// Its name may be free. One behind the other on a connection that stands still, a request for
  /// each release would make it worse: the request that is under way is answered first.
  /// @return true if it asks now; otherwise `is_told_meanwhile()` returns true after that answer
  [[nodiscard]] bool tell() noexcept {
    if (gives_way_ && !base::mutant("postgres.hears_its_own_release")) return false;
    in_vain_ = locked_ = 0;
    is_told_ = is_asked();
    return !is_told_;
  }
  [[nodiscard]] bool is_told_meanwhile() noexcept {
    return !is_asked() && std::exchange(is_told_, false);
  }
  /// It was answered that it cannot have the lock yet. A locked row counts by itself: a waiter that
  /// looks by time, and seldom by now, may have met its turn then, and would come as late again.
  /// @return how often in a row it was so
  unsigned look_in_vain(InVain why) noexcept {
    if (why == InVain::locked) return ++locked_;
    locked_ = 0;
    in_vain_ = why == InVain::told_later ? 0 : in_vain_ + 1;
    return in_vain_;
  }

 private:
  Names* names_ = nullptr;  // null: it does not wait
  Names::iterator place_{};
  std::uint32_t under_way_ = 0;
  unsigned in_vain_ = 0;
  unsigned locked_ = 0;  // since then
  bool gives_way_ = false;
  bool asks_last_ = false;
  bool is_told_ = false;  // after the request that is under way had left
};

}  // namespace mortise::postgres
