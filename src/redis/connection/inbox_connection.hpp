// SPDX-License-Identifier: MIT
// The inbox of one server: the connection by which pushes come.
#pragma once

#include <mortise/backend.hpp>

#include "redis/connection/connection.hpp"
#include "redis/connection/inbox_state.hpp"
#include "redis/store/listening.hpp"

#include <atomic>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace mortise::redis {

class Server;
class ServerUser;

/// It must lead to the same start of the same server as the connection for commands. Otherwise a
/// push could report a grant of a server that the other connection has not met. So it follows that
/// connection to its server.
/// @thread_safety every member may be called concurrently, except if its comment names a limit
class InboxConnection final : private Connection::User {
 public:
  /// Makes the connection for that channel.
  using Make = std::function<std::unique_ptr<Connection>(const std::string& channel,
                                                         Connection::User& user)>;

  /// @param server, host, user outlive it
  /// @param names see `names()`
  InboxConnection(Server& server, Host& host, ServerUser& user, Make make,
                  std::unique_ptr<Listening> names);
  ~InboxConnection() override;

  /// Makes it with the first call, and has the library poll it; one thread at a time. May throw:
  /// call it again then.
  void open(const std::string& channel);
  [[nodiscard]] bool is_open() const noexcept { return connection_.load() != nullptr; }
  [[nodiscard]] bool is_wanted() const noexcept;
  [[nodiscard]] bool is_up() const noexcept;
  void attach();
  void detach() noexcept;
  void close() noexcept;
  /// Makes it again at once, if it is not there.
  void renew();
  /// The connection for commands is up: leads the inbox there.
  void follow() { lead(true); }
  /// The same: the inbox is broken if it leads to another start of the server.
  void break_if_strayed();
  /// Sends a request that is answered by messages only. If there is no memory for it, the
  /// connection is made again: the next one begins with what is wanted by then.
  /// @param write is given the string for the bytes
  /// @return false: it was not sent
  template <class Write>
  [[nodiscard]] bool say(Write write) noexcept {
    Connection* const inbox = connection_.load();
    if (inbox == nullptr) return false;
    try {
      std::string bytes;
      write(bytes);
      return inbox->send(bytes);
    } catch (const std::exception&) {
      inbox->mark_broken({Errc::exhausted, "no memory"});
      return false;
    }
  }
  void mark_broken(const Failure& why) noexcept;
  /// A caller waits, so the inbox has to show that it lives. If it has not, it is broken here.
  /// @return true: probe it now, by a subscription to its `channel()`
  [[nodiscard]] bool begins_probe(Instant now);
  /// @return its channel, once it was opened.
  [[nodiscard]] const std::string& channel() const noexcept { return channel_; }
  [[nodiscard]] InboxState& state() noexcept { return state_; }
  [[nodiscard]] const InboxState& state() const noexcept { return state_; }
  /// @return in a cluster the names for which it listens; null = it receives all pushes.
  [[nodiscard]] Listening* names() noexcept { return names_.get(); }

 private:
  // Connection::User
  void greeted(Connection& connection, const ServerFacts& facts) override;
  void connected(Connection& connection) override;
  void answered(const Call& /*call*/, const Reply& /*reply*/) override {}
  [[nodiscard]] bool admits(const Call& /*call*/) override { return true; }
  void changed(Connection& connection) override { host_.changed(connection); }
  void pushed(const Reply& message) override;
  void dropped(Connection& connection, const Failure& why, bool was_up,
               std::list<Call> unanswered) override;

  void lead(bool now);

  Server& server_;
  Host& host_;
  ServerUser& user_;
  const Make make_;
  const std::unique_ptr<Listening> names_;
  std::string channel_;  // written before `connection_`
  std::atomic<Connection*> connection_{nullptr};
  std::unique_ptr<Connection> owned_;
  InboxState state_;
  std::atomic<bool> has_strayed_{false};  // the last one came to another server
  mutable std::mutex mutex_;
  std::string run_id_;  // of the server to which it leads
};

}  // namespace mortise::redis
