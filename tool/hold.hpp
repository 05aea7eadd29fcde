// SPDX-License-Identifier: MIT
// A command runs under a hold: of a lock, or of a key.
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

  /// Takes the lock or the key. @return whether it is held. If not, `take()` has printed the
  /// reason, and `status()` is the exit status.
  virtual bool take(std::stop_token stop) = 0;
  [[nodiscard]] int status() const noexcept { return status_; }
  /// @return the lease as the store has it.
  [[nodiscard]] virtual std::chrono::nanoseconds lease() const = 0;
  [[nodiscard]] virtual std::chrono::nanoseconds valid_for() const = 0;
  [[nodiscard]] virtual const std::stop_token& lost() const = 0;
  /// @return the variables for the environment of the command.
  [[nodiscard]] virtual std::vector<std::string> environment() const = 0;
  /// @return the capture of the command's output; null: the command has the output of the tool.
  [[nodiscard]] virtual Capture* capture() noexcept { return nullptr; }
  /// Frees it after the command has ended with this status, and no process of it is left.
  /// @return the exit status
  virtual int conclude(int command_status) = 0;
  /// Frees it if there was no command, or if the tool has ended the command.
  virtual void give_back() noexcept = 0;
  /// Prints the result, which may wait for a slow reader. The name is free already.
  /// @param status the exit status so far
  /// @return the exit status
  virtual int print(int status) { return status; }

 protected:
  int status_ = 0;
};

/// `mortise run`.
[[nodiscard]] std::unique_ptr<Hold> lock_hold(const Order& order);
/// `mortise once`.
[[nodiscard]] std::unique_ptr<Hold> key_hold(const Order& order);

}  // namespace mortise::tool
