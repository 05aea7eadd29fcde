// SPDX-License-Identifier: MIT
// What the command line asks for.
#pragma once

#include <mortise/options.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace mortise::tool {

/// One call of the program.
struct Order {
  std::string verb;  ///< run, once, holder, list, queue, watch, release, check, migrate
  std::string url;   ///< never shown: it may have a password in it
  std::string name;  ///< or key, or prefix
  std::vector<std::string> command{};

  std::chrono::nanoseconds wait = forever;  ///< for the lock
  std::chrono::milliseconds lease{30'000};
  std::string label{};
  std::chrono::milliseconds min_hold{0};
  bool shared = false;

  std::chrono::milliseconds keep{std::chrono::hours(24)};
  std::string fingerprint{};

  std::chrono::milliseconds answer{10'000};  ///< the longest wait for an answer of the store
  std::chrono::milliseconds every{2'000};
  bool once = false;  ///< `watch`: one look
  bool json = false;
  bool force = false;
  std::uint64_t token = 0;  ///< 0: of any hold
  std::string role{};
  std::string schema = "mortise";
  bool print = false;
};

/// Reads the arguments.
///
/// @return whether there is something to do; where not, `status` is what to exit with, and all is
/// said
[[nodiscard]] bool read_order(int argc, char** argv, Order& order, int& status);

/// Each of these does what its verb says, and returns the status to exit with.
int run_front(const Order& asked);  ///< run, once
int look_holder(const Order& order);
int look_queue(const Order& order);
int look_list(const Order& order);
int watch(const Order& order);
int release(const Order& order);
int check(const Order& order);
int migrate(const Order& order);

}  // namespace mortise::tool
