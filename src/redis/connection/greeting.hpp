// SPDX-License-Identifier: MIT
// The first words on a connection: who we are, whether this server is acceptable, and whether we
// may do what we will. All are sent in one flight, and the answers are read one by one.
#pragma once

#include <mortise/error.hpp>

#include "redis/store/reply.hpp"
#include "redis/store/rights.hpp"
#include "redis/store/settings.hpp"
#include "redis/topology/slots.hpp"

#include <deque>
#include <string>

namespace mortise::redis {

/// What the server said of itself.
struct ServerFacts {
  std::string run_id{};   ///< another one after each start: nothing of before is in its memory
  std::string version{};  ///< as Redis counts it; Valkey says so too
  /// The server's clock, in microseconds since 1970; 0 = unknown.
  std::uint64_t time = 0;
  SlotTable cluster{};  ///< of a node of a cluster, on a connection for commands
};

/// @thread_safety one thread at a time.
class Greeting {
 public:
  /// @param inbox the channel to subscribe to at the end; empty = none
  /// @throws Error (`misconfigured`): the password's file
  Greeting(const Settings& settings, const std::string& inbox);

  /// @return the bytes to send.
  [[nodiscard]] const std::string& bytes() const noexcept { return bytes_; }
  /// Reads the next answer.
  /// @return what is wrong with the server; none = so far all is well
  [[nodiscard]] Failure read(const std::string& where, const Reply& reply);
  [[nodiscard]] bool done() const noexcept { return said_.empty(); }
  [[nodiscard]] const ServerFacts& facts() const noexcept { return facts_; }

 private:
  enum class Step {
    authenticate,
    select,
    name,
    server,
    replication,
    memory,
    slots,
    trial,
    subscribe
  };
  /// What was said, and what a user needs to be allowed it.
  struct Said {
    Step step;
    std::string right{};
    std::string channel{};
  };
  void say(Said said, std::initializer_list<std::string_view> words);
  void say(const Trial& trial);
  [[nodiscard]] Failure refused(const Said& said, const std::string& where,
                                const std::string& words) const;
  [[nodiscard]] Failure check(Step step, const std::string& where, const Reply& reply);
  [[nodiscard]] Failure check_server(const std::string& where, const std::string& info);

  bool eviction_accepted_;
  bool of_cluster_;
  base::Address address_;
  std::string bytes_;
  std::string user_;
  std::deque<Said> said_;
  ServerFacts facts_;
};

}  // namespace mortise::redis
