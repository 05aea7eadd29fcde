// SPDX-License-Identifier: MIT
// Encodes the calls of a client, and writes each to its server.
#pragma once

#include "redis/parts.hpp"
#include "redis/polling.hpp"
#include "redis/topology.hpp"

#include <cstdint>
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
  [[nodiscard]] Server& line_of(const Acquisition& operation) override {
    return parts_.topology->server_of(operation.request().name);
  }
  [[nodiscard]] std::uint64_t version() const noexcept override {
    return parts_.topology->version();
  }
  [[nodiscard]] bool is_settled() const noexcept override { return parts_.topology->is_settled(); }
  [[nodiscard]] bool is_up(const Server& server) const noexcept override {
    return server.commands().up();
  }
  [[nodiscard]] std::uint64_t connection_of(const Server& server) const noexcept override {
    return server.commands().generation();
  }
  [[nodiscard]] bool has_room(const Server& server) const noexcept override {
    return server.commands().has_room();
  }
  [[nodiscard]] Failure why_down(const Server& server) const override { return server.why_down(); }
  void want(Server& server, bool now) override;
  void use(Server& server, const Call& call) override { parts_.topology->use(server, call); }
  [[nodiscard]] bool send(Server& server, Call& call) override;
  [[nodiscard]] bool sends_instead(Call& call) override;
  void note_lost(const Server& server, Call& call) noexcept override;
  void lost(Server& server, Exchange::Calls& calls) override {
    parts_.topology->lost(server, calls);
  }
  void lost_route(Server& server) override { parts_.topology->lost_route(server); }
  void break_lines() noexcept override;
  void sooner() override { parts_.polling->sooner(); }

 private:
  void write(const Server& server, std::string& bytes, Call& call);
  void write_acquire(const Server& server, std::string& bytes, Passage passage, Call& call);
  void write_release(const Server& server, std::string& bytes, Passage passage, Call& call);
  void set_void_moment(const Server& server, Call& call, const Acquisition::Request& request) const;
  void note_lost_take(const Server& server, const Call& call,
                      const std::shared_ptr<Acquisition>& taker) noexcept;

  Parts& parts_;
};

}  // namespace mortise::redis
