// SPDX-License-Identifier: MIT
// A model of a ZooKeeper ensemble (3.8): bytes of its protocol in, bytes out. It elects, lags,
// notices late that it is cut off, and ends sessions as the real one does; what it is compared by
// is beside it. Not modelled: read-only and local sessions, observers, TTL nodes, quotas, SASL,
// persistent watches, reconfiguration, TLS.
#pragma once

#include "simulation/server.hpp"
#include "simulation/zookeeper/options.hpp"
#include "simulation/zookeeper/peer.hpp"
#include "simulation/zookeeper/post.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace simulation::zookeeper {

/// Who is first in a queue of sequential nodes.
struct Holder {
  std::string node{};  ///< the last part of its path
  std::int64_t session = 0;
  std::int64_t czxid = 0;
  bool operator==(const Holder&) const = default;
};

class Ensemble {
 public:
  /// One server for each site; they elect a leader at once. One server alone serves at once.
  explicit Ensemble(const std::vector<Site*>& sites, const Options& options = {});
  Ensemble(const Ensemble&) = delete;
  Ensemble& operator=(const Ensemble&) = delete;

  [[nodiscard]] std::size_t size() const noexcept { return peers_.size(); }
  [[nodiscard]] Server& server(std::size_t which) { return *peers_.at(which); }

  // Faults. A server that stands still is its site's affair, one that ends is `restarted()`.
  /// Cuts a server from all others, but not from its clients; or mends that.
  void cut(std::size_t which, bool yes) { post_.cut(which, yes); }
  /// Cuts two servers from each other, or mends that.
  void cut_link(std::size_t one, std::size_t other, bool yes) { post_.cut_link(one, other, yes); }
  /// Has a server answer some requests by an error, as one that has too many.
  void throttle(std::size_t which, bool yes) {
    peers_.at(which)->throttle(yes ? options_.throttled_one_in : 0);
  }
  /// The same of each request.
  void throttle_all(std::size_t which, bool yes) { peers_.at(which)->throttle(yes ? 1 : 0); }

  /// From the next connection of its client on a session is no longer than that; zero: as ever.
  void limit_sessions(Nanos longest) { options_.max_session = longest; }
  [[nodiscard]] Nanos shortest_session() const {
    return options_.min_session != Nanos::zero() ? options_.min_session : 2 * options_.tick;
  }

  // What an administrator does, at the leader. @return false: there is none
  /// Ends a session in its time.
  bool end_session(std::int64_t session);
  bool remove(std::string path);

  // For judges: what is committed, as whoever has the most of it has it.
  /// @return the child of a node with the lowest number at its end; nothing: there is none.
  [[nodiscard]] std::optional<Holder> who_holds(std::string_view path) const;
  /// @return the children of a node whose creation the leader has proposed, and not carried out.
  [[nodiscard]] std::vector<Holder> coming(std::string_view path) const;
  /// @return the transactions, proposed and not carried out, that write a node's data.
  [[nodiscard]] std::vector<std::int64_t> coming_writes(std::string_view path) const;
  /// @return the children of a node whose names end with a number, the lowest first.
  [[nodiscard]] std::vector<Holder> queue(std::string_view path) const;
  /// @return how many children a node has.
  [[nodiscard]] std::size_t children(std::string_view path) const;
  [[nodiscard]] std::size_t sessions() const { return committed().sessions().size(); }
  [[nodiscard]] std::size_t znodes() const { return committed().size(); }
  /// @return of all servers.
  [[nodiscard]] std::size_t watches() const;
  /// @return whether a server has anything to tell a session's client once it happens.
  [[nodiscard]] bool watches_of(std::int64_t session) const;
  [[nodiscard]] const Tree& committed() const;
  /// @return who leads, and can commit: nothing while there is an election.
  [[nodiscard]] std::optional<std::size_t> leader() const;
  /// @return by which connection a session's client is there; nothing: by none.
  [[nodiscard]] std::optional<ConnectionId> connection_of(std::int64_t session) const;
  [[nodiscard]] const Peer& peer(std::size_t which) const { return *peers_.at(which); }

 private:
  Options options_;
  Post post_;
  std::vector<std::unique_ptr<Peer>> peers_;
};

}  // namespace simulation::zookeeper
