// SPDX-License-Identifier: MIT
// Trouble at the statement that counts: a process of the server's that stands still between two
// steps of a transaction, an answer that is lost with the connection, a statement that somebody
// cancels, a server that refuses whoever asks again.
#pragma once

#include "simulation/scene/postgres_servers.hpp"
#include "simulation/world/room.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace simulation {

class PostgresAmbush {
 public:
  enum class Whom { takes, renewals, releases, cancels, wakes, all };
  static constexpr std::size_t kinds = 6;
  static constexpr std::size_t specials = kinds + 6;

  /// @param end of the storm: until then what befalls somebody is over
  PostgresAmbush(Room& room, PostgresServers& servers, Nanos lease, Nanos end);

  /// From now on, for so long.
  /// @param special one of its own: a kind of statements, or something that needs to be aimed
  /// @return in words, for the trace
  std::string lie(std::uint64_t special, Random& random, Nanos length);
  /// Takes lose their connections, and what repeats them is denied, while they are executed.
  void lose_denied_takes(Random& random, Nanos length);
  /// Nobody may log in for that time.
  void refuse_logins(Nanos time);

 private:
  static constexpr std::uint64_t most_victims = 6;
  /// Processes that nobody is behind any more do not stand still for longer, or there are too many.
  static constexpr Nanos longest_orphan = 500ms;

  enum class What {
    late,              ///< its process stands still
    lost,              ///< the same, and its connection breaks
    lost_for_good,     ///< and all of its client's, which may not log in any more for a while
    cancelled,         ///< by an administrator, a little later
    stopped,           ///< its client, while the answer is on its way
    outlived,          ///< it stands still until a hold has just lapsed
    revoked,           ///< it stands still, and what is asked meanwhile is denied
    revoked_and_lost,  ///< the same, and its connection breaks: no late answer tells of it
    slow,              ///< so is each of its process, and the last one is late
    spoilt,            ///< so are those of its client behind it, and then it is cancelled
  };
  struct Trouble {
    Whom whom{};
    What what{};
    postgres::Point point{};
    Nanos until{0};
    double often = 0;
    std::uint64_t left = 0;
    ConnectionId connection = 0;  ///< of the process that is slow; 0: of none yet
    /// The last one is what comes behind a release, of which others are to be told meanwhile.
    bool behind_release = false;
    bool released = false;
  };
  [[nodiscard]] static Trouble draw(std::uint64_t special, Random& random);
  Nanos meets(ConnectionId connection, postgres::Statement statement, postgres::Point point);
  Nanos befall(Trouble& trouble, Connection& from, postgres::Statement statement);
  Nanos slow_down(Trouble& trouble, postgres::Statement statement);
  Nanos spoil(Trouble& trouble, const Connection& from);
  void cut(const Process& process, ConnectionId one, bool all);
  [[nodiscard]] Nanos until_a_hold_lapses() const;
  void refuse_takes(Nanos from, Nanos time);

  Room& room_;
  PostgresServers& servers_;
  const Nanos patience_;  // of a client, for an answer
  const Nanos end_;
  Random luck_;
  std::vector<Trouble> troubles_;
  std::uint64_t refusals_ = 0;
};

}  // namespace simulation
