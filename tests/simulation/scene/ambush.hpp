// SPDX-License-Identifier: MIT
// Trouble at the moment that counts. A fault at a random time seldom meets a request that is under
// way, which takes some hundred microseconds; an ambush waits for requests, and befalls those.
#pragma once

#include "simulation/server.hpp"
#include "simulation/world/room.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace simulation {

/// Stands before a server, and passes on what comes.
class Ambush final : public Server {
 public:
  enum class What {
    late_answer,        ///< of the connection on which it was asked
    lost_answer,        ///< it was worked on, and the connection breaks
    spoilt_answer,      ///< rubbish comes instead
    late_copy,          ///< the connection breaks, and the request comes later
    late_messages,      ///< what the request has the server tell to another connection
    stopped_requester,  ///< the process is stopped while the answer is on its way
    stopped_threads,    ///< the process' threads stop anywhere meanwhile
    broken_pipe,        ///< who sends next on that connection finds it broken
    broken_later,       ///< the process' threads stop anywhere, while connections break in a row
    refused             ///< the server is busy for once
  };
  static constexpr std::size_t kinds = 10;

  /// @param words of requests: some ambushes wait for those with one of them
  Ambush(Room& room, Host& host, Server& server, std::vector<std::string> words)
      : room_(room), host_(host), server_(server), words_(std::move(words)) {}

  /// From now on, for so long.
  /// @return in words, for the trace
  std::string lie(What what, Random& random, Nanos length);
  /// Has the server refuse what comes.
  std::function<void(bool)> refuse;
  /// @return whether a request of that connection was kept back, and comes yet.
  [[nodiscard]] bool keeps(ConnectionId connection) const { return kept_.contains(connection); }

  void opened(ConnectionId connection) override { server_.opened(connection); }
  void received(ConnectionId connection, std::string_view bytes) override;
  void closed(ConnectionId connection) override;
  void restarted(bool keeps_data) override;

 private:
  struct Trouble {
    What what{};
    Nanos until{0};
    double often = 0;
    std::string word{};  // empty: any request
    std::uint64_t left = 0;
  };
  struct Kept {
    std::deque<std::string> requests;
    bool closed = false;
  };
  [[nodiscard]] Trouble* trouble_of(std::string_view bytes, Nanos now);
  void befall(const Trouble& trouble, Connection& from, std::string_view bytes, Nanos time);
  void keep(ConnectionId connection, std::string_view bytes, Nanos time);
  void deliver(ConnectionId connection);
  void stop_threads(Process& process, Nanos time, double often = 0.1);
  void cut_newest(const Process& process);
  [[nodiscard]] Connection* another(const Connection& than, bool of_another_process);

  Room& room_;
  Host& host_;
  Server& server_;
  const std::vector<std::string> words_;
  std::vector<Trouble> troubles_;
  Random luck_;
  std::map<ConnectionId, Kept> kept_;
  /// Whose connection has broken while its threads stop: on the next one answers are late.
  struct Aftermath {
    const Process* process = nullptr;
    ConnectionId broken{};
    Nanos until{0};
  };
  Aftermath aftermath_;
};

}  // namespace simulation
