// SPDX-License-Identifier: MIT
// The hold of one attempt: from the proof that its session lives until the hold is released or
// lost.
#pragma once

#include <mortise/clock.hpp>
#include <mortise/operation.hpp>

#include <chrono>
#include <cstdint>
#include <string>

namespace mortise::zookeeper {

class Course;
struct Reply;

class Hold {
 public:
  /// News of a shared hold from the last list.
  struct News {
    bool is_wanted = false;  ///< another client waits for its end
    Instant as_of{};         ///< when the client asked for that
  };

  explicit Hold(Course& course) noexcept : course_(course) {}

  /// Its node has the name. If the session is proven to live, grants it. Otherwise proves that
  /// first.
  /// @param number the transaction that is the number of its grant
  void prove(std::int64_t number);
  [[nodiscard]] std::uint64_t number() const noexcept {
    return static_cast<std::uint64_t>(number_);
  }
  /// A renewal is proven from that moment.
  void renew(Instant from);
  /// @return the moment from which the session has to be proven for the next renewal.
  [[nodiscard]] Instant next_proof() const noexcept;
  /// @return when it is over if nothing renews it.
  [[nodiscard]] Instant lapse() const noexcept { return lapse_; }
  void lose(const std::string& words);
  /// The same, but its session lives. The node stays until the library knows of the loss, because
  /// its removal gives the name to another client.
  void lose_and_remove(const std::string& words);
  /// @param wanted whether its node is to be watched from now on
  void watch(bool wanted);
  /// Its node is not watched any more.
  void forget_watch() noexcept;
  [[nodiscard]] HoldId id() const;

  News news{};
  std::uint64_t run = 0;  ///< of a key

 private:
  void proved(const std::string& node, const Reply& reply);
  void grant();
  void watching(const Reply& reply);

  Course& course_;
  std::int64_t number_ = 0;
  Instant counted_{};  // from when the library counts it
  Instant lapse_ = never;
  bool watches_node_ = false;
};

}  // namespace mortise::zookeeper
