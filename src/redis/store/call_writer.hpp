// SPDX-License-Identifier: MIT
// Encodes the calls of a client, and writes each to its server.
#pragma once

#include "redis/store/parts.hpp"
#include "redis/store/polling.hpp"
#include "redis/topology/topology.hpp"

#include <memory>
#include <string>

namespace mortise::redis {

/// @thread_safety every member may be called concurrently
class CallWriter final : public Exchange::Store {
 public:
  /// @param parts outlive it
  explicit CallWriter(Parts& parts) : parts_(parts) {}

  [[nodiscard]] Server& line_of(const Call& call) override {
    return parts_.topology->server_of(call);
  }
  [[nodiscard]] remote::LineState state_of(const Server& server) const noexcept override {
    const Connection& commands = server.commands();
    const std::uint64_t generation = commands.calls().generation();  // first, as in `send()`
    return {.connection = commands.up() ? generation : 0, .has_room = commands.calls().has_room()};
  }
  Failure want(Server& server, bool now) override;
  [[nodiscard]] bool send(Server& server, Call& call) override;
  void note_lost(const Server& server, Call& call) noexcept override;
  void break_lines() noexcept override;
  void sooner() override { parts_.polling->sooner(); }

 private:
  void write(const Server& server, std::string& bytes, Call& call);
  void write_acquire(const Server& server, std::string& bytes, Passage passage, Call& call);
  void write_cancel(std::string& bytes, const Passage& passage, Call& call) const;
  void write_release(const Server& server, std::string& bytes, Passage passage, Call& call);
  void set_void_moment(const Server& server, Call& call, const Acquisition::Request& request) const;
  void note_lost_take(const Server& server, const Call& call,
                      const std::shared_ptr<Acquisition>& taker) noexcept;

  Parts& parts_;
};

}  // namespace mortise::redis
