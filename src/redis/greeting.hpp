// SPDX-License-Identifier: MIT
// The first words on a connection: who we are, and whether this server is acceptable. All are sent
// in one flight, and the answers are read one by one.
#pragma once

#include <mortise/error.hpp>

#include "redis/reply.hpp"
#include "redis/settings.hpp"

#include <deque>
#include <string>

namespace mortise::redis {

/// What the server said of itself.
struct ServerFacts {
  std::string run_id{};   ///< another one after each start: nothing of before is in its memory
  std::string version{};  ///< as Redis counts it; Valkey says so too
};

/// @thread_safety one thread at a time.
class Greeting {
 public:
  /// @param inbox the channel to subscribe to at the end; empty = none
  /// @throws LockError (`misconfigured`): the password's file
  Greeting(const Settings& settings, const std::string& inbox);

  /// @return the bytes to send.
  [[nodiscard]] const std::string& bytes() const noexcept { return bytes_; }
  /// Reads the next answer.
  /// @return what is wrong with the server; none = so far all is well
  [[nodiscard]] Failure read(const std::string& where, const Reply& reply);
  [[nodiscard]] bool done() const noexcept { return steps_.empty(); }
  [[nodiscard]] const ServerFacts& facts() const noexcept { return facts_; }

 private:
  enum class Step { authenticate, select, name, server, replication, memory, subscribe };
  void say(Step step, std::initializer_list<std::string_view> words);
  [[nodiscard]] Failure check(Step step, const std::string& where, const Reply& reply);
  [[nodiscard]] Failure check_server(const std::string& where, const std::string& info);

  bool eviction_accepted_;
  bool of_cluster_;
  std::string bytes_;
  std::deque<Step> steps_;
  ServerFacts facts_;
};

}  // namespace mortise::redis
