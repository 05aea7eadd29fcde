// SPDX-License-Identifier: MIT
// What a command is run under: the hold of a lock, or the run of a key.
#pragma once

#include <mortise/token.hpp>

#include "order.hpp"

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

namespace mortise::tool {

class Capture;

class Hold {
 public:
  Hold() = default;
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  virtual ~Hold() = default;

  /// Takes it. @return whether it is held; where not, `status()` is what to exit with, and the
  /// reason is said
  virtual bool take(std::stop_token stop) = 0;
  [[nodiscard]] int status() const noexcept { return status_; }
  /// @return the lease as the store has it.
  [[nodiscard]] virtual std::chrono::nanoseconds lease() const = 0;
  [[nodiscard]] virtual std::chrono::nanoseconds valid_for() const = 0;
  [[nodiscard]] virtual const std::stop_token& lost() const = 0;
  /// @return what is added to the command's environment.
  [[nodiscard]] virtual std::vector<std::string> environment() const = 0;
  /// @return where the command's output goes; null: where the tool's goes.
  [[nodiscard]] virtual Capture* capture() noexcept { return nullptr; }
  /// Frees it: the command has ended with this status, and nothing of it is left.
  /// @return the status to exit with
  virtual int conclude(int command_status) = 0;
  /// Frees it: there was no command, or it was not let finish.
  virtual void give_back() noexcept = 0;
  /// Prints what came of it, which may wait for whoever reads; nothing is held any more.
  /// @return the status to exit with, where it was `status` until then
  virtual int print(int status) { return status; }

 protected:
  int status_ = 0;
};

/// `mortise run`.
[[nodiscard]] std::unique_ptr<Hold> lock_hold(const Order& order);
/// `mortise once`.
[[nodiscard]] std::unique_ptr<Hold> key_hold(const Order& order);

}  // namespace mortise::tool
