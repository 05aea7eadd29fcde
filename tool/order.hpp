// SPDX-License-Identifier: MIT
// The command line as a request.
#pragma once

#include <mortise/mode.hpp>
#include <mortise/options.hpp>
#include <mortise/token.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace mortise::tool {

/// `run` and `once`: the command, and how to hold the name while it runs.
struct CommandOptions {
  std::vector<std::string> words{};  ///< the program and its arguments
  std::chrono::nanoseconds wait = forever;
  std::chrono::milliseconds lease{30'000};
  std::string label{};
  std::chrono::milliseconds min_hold{0};
  bool shared = false;
  std::chrono::milliseconds keep{std::chrono::hours(24)};
  std::string fingerprint{};
};

/// The options that the commands for administrators have in common.
struct LookOptions {
  std::chrono::milliseconds answer{10'000};  ///< the longest wait for an answer of the store
  std::chrono::milliseconds every{2'000};    ///< `watch`: the pause between two updates
  bool once = false;                         ///< `watch`: print one table
  bool json = false;
  Token token{};  ///< `release`: the hold to end; 0 = any
  /// `exclusive` = locks, `permit` = semaphores, `once` = keys; empty = all that the store has, or
  /// for `release` locks.
  std::vector<Mode> kinds{};
};

/// `migrate`.
struct SchemaOptions {
  std::string role{};
  std::string schema = "mortise";
  bool print = false;
};

/// One call of the program.
struct Order {
  std::string verb;    ///< the command's name: "run", "list"
  std::string url;     ///< of the store. Never printed: it may contain a password
  std::string name{};  ///< of a lock, a semaphore or a key; or a prefix of names
  CommandOptions command{};
  LookOptions look{};
  SchemaOptions schema{};
};

/// Reads the arguments. If they ask for help, or make no sense, it prints the answer.
///
/// @param status receives the exit status if there is nothing to carry out
/// @return whether there is an order to carry out
[[nodiscard]] bool read_order(int argc, char** argv, Order& order, int& status);

/// Each function carries out the command of its name, and returns the exit status.
int run_front(const Order& asked);  ///< run, once
int look_holder(const Order& order);
int look_queue(const Order& order);
int look_list(const Order& order);
int watch(const Order& order);
int look_key(const Order& order);
int forget_key(const Order& order);
int release(const Order& order);
int check(const Order& order);
int migrate(const Order& order);

}  // namespace mortise::tool
