// SPDX-License-Identifier: MIT
// The network between the servers of an ensemble: each direction of two servers is in order. What
// is under way when it is cut waits, as a connection's bytes do, until it is mended.
#pragma once

#include "simulation/server.hpp"
#include "simulation/zookeeper/message.hpp"
#include "simulation/zookeeper/options.hpp"

#include <cstddef>
#include <deque>
#include <functional>
#include <vector>

namespace simulation::zookeeper {

class Post {
 public:
  using Deliver = std::function<void(std::size_t to, Message message)>;

  Post(std::vector<Site*> sites, const Options& options, Deliver deliver);

  void send(std::size_t from, std::size_t to, Message message);
  /// Both directions of two servers.
  void cut_link(std::size_t one, std::size_t other, bool cut);
  /// One server from all others.
  void cut(std::size_t server, bool cut);
  /// @return what a message to a server may take: `Options::latency` and so on.
  [[nodiscard]] Nanos lag_of(std::size_t server);
  /// A server has ended: nothing of what was under way to it comes.
  void forget(std::size_t server);

 private:
  struct Pipe {
    std::deque<Message> waiting{};
    Nanos last{};  // when the last one comes, by the receiver's clock
    bool cut = false;
  };

  [[nodiscard]] Pipe& pipe(std::size_t from, std::size_t to) { return pipes_[from * size() + to]; }
  [[nodiscard]] std::size_t size() const noexcept { return sites_.size(); }
  [[nodiscard]] bool is_cut(std::size_t from, std::size_t to);
  void schedule(std::size_t from, std::size_t to);
  void arrive(std::size_t from, std::size_t to);
  void mend();

  const std::vector<Site*> sites_;
  const Options& options_;
  const Deliver deliver_;
  std::vector<Pipe> pipes_;
  std::vector<char> alone_;  // cut from all
};

}  // namespace simulation::zookeeper
