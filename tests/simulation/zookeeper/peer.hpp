// SPDX-License-Identifier: MIT
// One server of an ensemble, or the only one: its clients (peer_clients.cpp), what it carries out
// (peer.cpp), and how it elects (peer_electing.cpp), follows (peer_following.cpp) or leads
// (peer_leading.cpp).
#pragma once

#include "simulation/server.hpp"
#include "simulation/zookeeper/connections.hpp"
#include "simulation/zookeeper/message.hpp"
#include "simulation/zookeeper/options.hpp"
#include "simulation/zookeeper/post.hpp"
#include "simulation/zookeeper/preparer.hpp"
#include "simulation/zookeeper/sessions.hpp"
#include "simulation/zookeeper/tree.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace simulation::zookeeper {

class Peer final : public Server, private Connections::User {
 public:
  Peer(std::size_t index, std::size_t size, Site& site, Post& post, const Options& options);

  // Server
  void opened(ConnectionId connection) override { connections_.open(connection); }
  void received(ConnectionId connection, std::string_view bytes) override;
  void closed(ConnectionId connection) override { connections_.forget(connection); }
  void restarted(bool keeps_data) override;

  /// To be called once all servers are there.
  void start() { look(); }
  /// Another server has said something.
  void deliver(Message message);
  /// @param one_in one request in so many is answered by an error; 0: none
  void throttle(unsigned one_in) noexcept { throttled_one_in_ = one_in; }
  /// @return when it asks its followers next which sessions gave signs of life; of a leader.
  [[nodiscard]] Nanos until_ping() const { return next_ping_ - site_.uptime(); }
  // An administrator's hand, at a server that leads.
  void end_session(std::int64_t session);
  void remove(std::string path);

  /// @return what it has logged and not carried out yet, the oldest first.
  [[nodiscard]] const std::deque<TxnPtr>& log() const noexcept { return log_; }
  [[nodiscard]] Role role() const noexcept { return role_; }
  /// @return whether clients are served.
  [[nodiscard]] bool serving() const noexcept { return serving_; }
  [[nodiscard]] std::int64_t epoch() const noexcept { return current_epoch_; }
  /// @return what it has carried out: nothing but what is committed.
  [[nodiscard]] const Tree& tree() const noexcept { return tree_; }
  [[nodiscard]] std::size_t watches() const noexcept {
    return watches_.data.count() + watches_.children.count();
  }
  [[nodiscard]] bool watches_of(std::int64_t session) const {
    const auto id = connections_.id_of(session);
    return id && (watches_.data.has(*id) || watches_.children.has(*id));
  }
  [[nodiscard]] std::size_t connections() const noexcept { return connections_.count(); }
  [[nodiscard]] std::optional<ConnectionId> connection_of(std::int64_t session) const {
    return connections_.id_of(session);
  }

 private:
  using Kind = Message::Kind;
  /// Looking for a leader: the server's FastLeaderElection.
  struct Electing {
    Vote vote{};
    std::map<std::size_t, Vote> votes{};       // of those who look, in this round
    std::map<std::size_t, Message> settled{};  // of those who have a leader
    Nanos pause{};                             // until the vote is told again
    bool deciding = false;
  };
  struct Following {
    std::size_t leader = 0;
    std::uint64_t link = 0;
    int tries = 0;
    Nanos heard{};
    std::map<std::int64_t, std::int32_t> touched{};        // sessions, and their time-outs
    std::map<std::int64_t, ConnectionId> revalidations{};  // that the leader has to answer
    std::deque<Request> syncs{};                           // the same
  };
  /// What a leader knows of a follower.
  struct Handler {
    std::uint64_t link = 0;
    bool greeted = false;  // it was sent a snapshot, and all since then
    bool acked = false;    // it has that
    Nanos heard{};
    std::int64_t deadline = 0;  // tick after which it does not count
  };
  struct Proposal {
    TxnPtr txn{};
    std::set<std::size_t> acks{};
  };
  struct Leading {
    Leading(const Tree& tree, Nanos unit, Nanos now, bool alone, std::int64_t zxid)
        : sessions(unit, now), preparer(tree, sessions, alone, zxid) {}
    Sessions sessions;
    Preparer preparer;
    std::map<std::size_t, Handler> handlers{};
    std::map<std::size_t, std::int64_t> accepted{};  // epochs, of those who would follow
    std::int64_t epoch = 0;
    std::deque<Proposal> proposals{};
    std::deque<TxnPtr> committed{};  // its followers know it, and it has not carried it out
    /// Behind which zxid, for whom, and by which of its connections: another knows nothing of it.
    std::map<std::int64_t, std::vector<std::pair<std::size_t, std::uint64_t>>> syncs{};
    std::int64_t last = 0;  // zxid that was proposed
    std::int64_t tick = 0;
    bool half = false;
  };

  // Clients.
  void greeted(Connection& connection, const Greeting& greeting) override;
  void asked(Connection& connection, std::int32_t cxid, std::int32_t type,
             std::string_view body) override;
  void authenticate(Connection& connection, std::int32_t cxid, std::string_view body);
  void create_session(Connection& connection);
  void revalidate(Connection& connection);
  void submit(Request request);
  [[nodiscard]] bool throttles(const Request& request);

  // What is carried out, in the order in which each session asked.
  [[nodiscard]] bool awaits_commit(const Request& request) const;
  void enqueue(Request request);
  void drain(std::int64_t session);
  void answer(const Request& request);
  void answer(const Request& request, const Txn& txn, const std::vector<Result>& results);
  void carry_out(const TxnPtr& txn);
  void note_session(const Txn& txn);

  // Roles.
  void look();
  void leave_role();
  void hear_vote(const Message& message);
  void hear_looking(const Message& message);
  void hear_settled(const Message& message);
  void tell_votes();
  void tell_vote(std::size_t to);
  void repeat_votes();
  void consider();
  void decide();
  void settle(std::size_t leader);

  void follow(std::size_t leader);
  void connect_to_leader();
  void watch_leader();
  void hear_leader(Message& message);
  void forward(const Request& request);
  void answer_ping();

  void lead();
  void hear_follower(Message& message);
  void take_info(Handler& handler, const Message& message);
  void choose_epoch();
  void greet(std::size_t follower);
  void take_ack_of_leader(std::size_t follower);
  void establish();
  void take_request(std::size_t follower, Message& message);
  TxnPtr prepare(Request& request);
  void propose(const TxnPtr& txn);
  void take_ack(std::size_t follower, std::int64_t zxid);
  void commit_ready();
  void carry_out_next();
  void half_tick();
  void expire_sessions();
  void reap_containers();
  void submit_own(std::int64_t session, std::int32_t type, std::string body);

  void send(std::size_t to, Message message) { post_.send(index_, to, std::move(message)); }
  /// Not if the role has changed until then.
  void later(Nanos delay, void (Peer::*then)());
  [[nodiscard]] bool alone() const noexcept { return size_ == 1; }
  [[nodiscard]] bool most(std::size_t count) const noexcept { return 2 * count > size_; }
  [[nodiscard]] std::int64_t last_logged() const {
    return log_.empty() ? tree_.last() : log_.back()->zxid;
  }

  const std::size_t index_;
  const std::size_t size_;
  Site& site_;
  Post& post_;
  const Options& options_;

  // On disk.
  Tree tree_;
  std::deque<TxnPtr> log_;  // what is not known to be committed
  std::int64_t accepted_epoch_ = 0;
  std::int64_t current_epoch_ = 0;

  // In memory.
  Watches watches_;
  Connections connections_;
  std::map<std::int64_t, std::deque<Request>> pending_;  // by session
  bool serving_ = false;
  unsigned throttled_one_in_ = 0;
  Role role_ = Role::looking;
  std::uint64_t life_ = 0;  // of the role
  std::uint64_t links_ = 0;
  std::int64_t round_ = 0;  // of elections
  Vote settled_vote_{};     // that the last one ended with
  std::int64_t next_session_ = 0;
  Nanos next_ping_{};
  std::optional<Electing> electing_;
  std::optional<Following> following_;
  std::optional<Leading> leading_;
};

}  // namespace simulation::zookeeper
