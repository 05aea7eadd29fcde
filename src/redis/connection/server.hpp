// SPDX-License-Identifier: MIT
// One server as a client has it: the connection for commands and the inbox. It knows nothing of
// locks, and nothing of other servers.
#pragma once

#include <mortise/backend.hpp>

#include "redis/beside/witness.hpp"
#include "redis/connection/connection.hpp"
#include "redis/connection/inbox_connection.hpp"
#include "redis/connection/place_watch.hpp"
#include "redis/store/answer.hpp"
#include "redis/store/settings.hpp"
#include "redis/topology/sentinels.hpp"
#include "remote/course_news.hpp"
#include "remote/last_failure.hpp"
#include "remote/server_identity.hpp"
#include "remote/stream/tls.hpp"

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace mortise::redis {

class Server;

/// Receives the events of a server. Its functions are called under no mutex, except `admits()`, in
/// the reader's role of the connection concerned.
class ServerUser {
 public:
  virtual ~ServerUser() = default;
  /// The server is acceptable by itself. @param table its answer about its cluster, if it is in one
  /// @return why it is not one of the servers of this client
  [[nodiscard]] virtual Failure refuses(Server& /*server*/, const SlotTable& /*table*/) {
    return {};
  }
  /// Calls can be sent.
  virtual void is_up(Server& server) = 0;
  /// Pushes can come.
  virtual void listens(Server& server) = 0;
  /// As of Connection::User, the next three.
  virtual void answered(Server& server, const Call& call, const Reply& reply) = 0;
  [[nodiscard]] virtual bool admits(const Call& call) = 0;
  virtual void matched(Server& server, const Call& call, const Reply& reply, Instant now) = 0;
  virtual void pushed(Server& server, const Reply& message) = 0;
  /// @param final asking again will not help
  virtual void lost_commands(Server& server, const Failure& why, bool final, bool was_up,
                             std::list<Call> unanswered) = 0;
  virtual void lost_inbox(Server& server, const Failure& why, bool final) = 0;
};

/// The two connections have to lead to the same server, started once: see InboxConnection.
/// @thread_safety every member may be called concurrently, but for those that say otherwise.
class Server final : private Connection::User {
 public:
  using User = ServerUser;

  /// What the reply says that is being read, of an attempt or of a release, and how that was noted.
  struct Told {
    std::optional<Answer> answer{};
    std::optional<ReleaseAnswer> release{};
    bool release_in_doubt = false;
    bool looks_later = false;   // a look at a leftover is due later
    std::uint64_t hold = 0;     // the number of the attempt's hold, as it is recorded now
    remote::CourseNews news{};  // what was noted without the mutex of the attempts

    /// In place: a new one would have to be written as a whole, and be moved here.
    void forget() noexcept {
      answer.reset();
      release.reset();
      release_in_doubt = false;
      looks_later = false;
      hold = 0;
    }
  };

  /// What the servers of one client share.
  struct Shared {
    std::mutex line{};  ///< guards what the user notes of calls, with the calls: see Connection
    std::atomic<std::uint64_t> generations{0};  ///< of their connections: see UnderWay
    std::atomic<std::uint64_t> clocks{0};
    remote::NewsBoard news{};  ///< what was read of attempts without that mutex
  };

  /// @param settings, tls, shared, user outlive it; tls may be null
  Server(Host& host, const Settings& settings, const remote::Tls* tls, Shared& shared, User& user);
  ~Server() override;

  /// Has the library poll its connections. May throw: say it again then.
  void attach();
  /// Ends that, if no connection is wanted: until it is attached again.
  void detach() noexcept;
  [[nodiscard]] bool is_attached() const noexcept { return state_.load() == State::attached; }
  /// Ends both connections. No further call of its user follows. @return what was not answered
  std::list<Call> end() noexcept;
  [[nodiscard]] bool has_ended() const noexcept { return state_.load() == State::ended; }

  [[nodiscard]] Connection& commands() noexcept { return commands_; }
  [[nodiscard]] const Connection& commands() const noexcept { return commands_; }
  [[nodiscard]] InboxConnection& inbox() noexcept { return inbox_; }
  [[nodiscard]] const InboxConnection& inbox() const noexcept { return inbox_; }
  [[nodiscard]] remote::ServerIdentity& identity() noexcept { return identity_; }
  [[nodiscard]] const remote::ServerIdentity& identity() const noexcept { return identity_; }
  [[nodiscard]] std::uint64_t clock() const noexcept { return identity_.clock(); }
  /// @return "redis 10.0.0.1:6379".
  [[nodiscard]] const std::string& where() const noexcept { return commands_.where(); }
  /// @return true if the client asks sentinels for the address of this server.
  [[nodiscard]] bool has_sentinels() const noexcept { return sentinels_ != nullptr; }

  /// A call for it was made; and when that was last.
  void use(Instant now) noexcept { used_.store(now.time_since_epoch().count()); }
  [[nodiscard]] Instant used() const noexcept { return Instant(Instant::duration(used_.load())); }
  /// @return why there is no connection for commands; none = there is, or that is not known.
  [[nodiscard]] Failure why_down() const { return why_down_.get(); }
  /// @return the failure of a connection to another start of the server.
  [[nodiscard]] Failure started_anew() const;

  /// Until replicas have what it grants; null = none is asked for.
  [[nodiscard]] Witness* witness() noexcept { return witness_.get(); }
  /// Of the reader's role of the connection for commands.
  [[nodiscard]] Told& told() noexcept { return told_; }

 private:
  // Connection::User
  void greeted(Connection& connection, const ServerFacts& facts) override;
  void connected(Connection& connection) override;
  void answered(const Call& call, const Reply& reply) override {
    user_.answered(*this, call, reply);
  }
  [[nodiscard]] bool admits(const Call& call) override { return user_.admits(call); }
  void matched(const Call& call, const Reply& reply, Instant now) override {
    user_.matched(*this, call, reply, now);
  }
  void changed(Connection& connection) override { host_.changed(connection); }
  void pushed(const Reply& message) override { user_.pushed(*this, message); }
  void dropped(Connection& connection, const Failure& why, bool was_up,
               std::list<Call> unanswered) override;

  void lead_witness();

  enum class State : std::uint8_t { detached, attached, ended };

  Host& host_;
  User& user_;
  remote::ServerIdentity identity_;
  const std::unique_ptr<Sentinels> sentinels_;  // null = the address is known
  Connection commands_;
  InboxConnection inbox_;
  PlaceWatch watch_;
  const std::unique_ptr<Witness> witness_;
  Told told_;
  remote::LastFailure why_down_;
  std::atomic<Instant::rep> used_{0};
  std::atomic<State> state_{State::detached};
};

}  // namespace mortise::redis
