// SPDX-License-Identifier: MIT
// Somebody else at the server, who is not under test: a session without a connection, which sends
// one message after the other.
#pragma once

#include "simulation/postgres/session.hpp"

#include <functional>
#include <string>
#include <vector>

namespace simulation::postgres {

class Stranger {
 public:
  /// @param next called whenever the session waits: what to send; empty = nothing yet
  Stranger(Database& database, int pid, std::function<std::string()> next);

  [[nodiscard]] bool ended() const noexcept { return session_.ended(); }
  /// Says the next thing, where it waits for that.
  void go_on();

  /// @return a statement with arguments, as one message behind the other.
  [[nodiscard]] static std::string statement(const std::string& text,
                                             const std::vector<std::string>& arguments);
  [[nodiscard]] static std::string simple(const std::string& text);
  [[nodiscard]] static std::string leave();

 private:
  std::function<std::string()> next_;
  Session session_;
};

}  // namespace simulation::postgres
