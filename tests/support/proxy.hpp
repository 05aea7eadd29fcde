// SPDX-License-Identifier: MIT
// A bad network in front of a server (Redis, PostgreSQL, ZooKeeper, or that of an example): it
// forwards connections and, when told to, loses, keeps, delays and mutilates what goes through, by
// whole commands and replies. Bytes of another protocol, such as TLS, are forwarded in the pieces
// that arrive, and each piece counts as a reply.
#pragma once

#include "base/unique_fd.hpp"
#include "support/proxy_faults.hpp"
#include "support/proxy_link.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace mortise::test {

struct ProxyOptions {
  std::uint16_t port = 0;               ///< 0: a free one
  std::optional<std::uint64_t> seed{};  ///< default: that of the test, which is printed
  /// False: connections wait unanswered until `run()`. A process that forks clients by
  /// model::Process can do so only before it has a second thread.
  bool running = true;
  ProxyProtocol protocol = ProxyProtocol::redis;
};

/// Listens on 127.0.0.1 from the constructor to the destructor, with one thread. All members may be
/// called from every thread; a fault is in force when the call returns, for what has not yet
/// passed. Children that are forked keep none of its descriptors.
class Proxy {
 public:
  using Options = ProxyOptions;
  using Connections = ProxyConnections;
  using Direction = ProxyDirection;
  using Replies = ProxyReplies;
  using Moment = ProxyMoment;
  using Duration = std::chrono::nanoseconds;

  explicit Proxy(std::uint16_t target_port, Options options = {});
  explicit Proxy(std::string target_path, Options options = {});
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;
  ~Proxy();

  void run();
  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  [[nodiscard]] std::string url() const;  ///< redis://127.0.0.1:PORT

  // The whole network.
  /// Resets connections now. @return how many
  std::size_t cut_all(Connections which = Connections::all);
  /// New connections are refused, as where nobody listens.
  void refuse(bool on);
  /// New connections are accepted, and reset at once.
  void reset_new(bool on);
  /// New connections are accepted; nothing moves, and nobody learns that the other side has gone.
  /// When it is over, all that was sent meanwhile arrives.
  void blackhole(bool on);
  /// The same for the connections that exist now: half open. New ones are fine. @return how many
  std::size_t freeze(bool on, Connections which = Connections::all);
  /// Every piece comes so much later, in order.
  void delay(Duration least, Duration most, Direction where = Direction::both);
  /// Replies arrive byte by byte, one in each interval on average; 0: as a whole again.
  void drip(Duration interval);
  /// No faults any more: what is kept is delivered, what is delayed keeps its delay.
  void heal();

  // Single messages, each with a probability. A stream cannot lose a reply and go on, so the
  // connection is reset in its place: with a lost reply the command was executed, with a lost
  // request it was not. Only operations of locks are lost, so that connections come up.
  void lose_reply(double probability);
  void lose_request(double probability);
  /// The connection ends at the `nth` operation from now, or the nth with this command, once.
  void cut_at(std::size_t nth, Moment moment, std::string command = {});
  /// Whether that is still to come.
  [[nodiscard]] bool cut_is_ahead() const;
  /// ZooKeeper's requests with this command are answered with this error from now on, and not done,
  /// as by a server that has too many of them; 0: no more.
  void answer_with_error(const std::string& command, std::int32_t error);
  /// Messages of subscriptions vanish, and their connection lives on.
  void lose_push(double probability);
  void delay_push(Duration least, Duration most);

  // The next reply, once.
  /// It ends after so many bytes, and the connection with it.
  void cut_reply_after(std::size_t bytes, Replies which = Replies::any);
  /// These bytes arrive in its place.
  void garbage(std::string bytes, Replies which = Replies::any);

  // One operation of a lock: the next, or the one behind so many others.
  /// The server has this command for it, and the client the answer to that.
  void replace_request(std::string command, std::size_t others = 0);
  /// @return whether that is still to come.
  [[nodiscard]] bool replacement_is_ahead() const;

  // A delayed duplicate.
  /// Of connections that exist now: what their clients send is kept, even when they go, and the
  /// server sees no end of them. New connections are fine. False: `release_held()`.
  void hold_requests(bool on, Connections which = Connections::all);
  /// Delivers it. @return how many commands
  std::size_t release_held();
  /// How many commands are kept.
  [[nodiscard]] std::size_t held() const;

  // What has been seen.
  [[nodiscard]] ProxyCounts counts() const;
  [[nodiscard]] std::uint64_t pushes() const;    ///< messages from the server, lost ones too
  [[nodiscard]] std::uint64_t commands() const;  ///< operations of locks, lost ones too
  [[nodiscard]] std::uint64_t commands(const std::string& name) const;
  [[nodiscard]] std::size_t connections(Connections which = Connections::all) const;

 private:
  struct Round;

  Proxy(std::uint16_t target_port, std::string target_path, const Options& options);
  void listen_on(std::uint16_t port);
  [[nodiscard]] base::UniqueFd connect_to_target() const;
  void wake() const noexcept;
  template <class Change>
  void change(Change change);
  std::size_t release_held_locked();
  void loop();
  [[nodiscard]] Round prepare();
  void accept_all();

  const ProxyProtocol protocol_;
  const std::uint16_t target_port_;
  const std::string target_path_;
  std::uint16_t port_ = 0;
  base::UniqueFd listener_;
  base::UniqueFd wake_;

  mutable std::mutex mutex_;
  ProxyNetwork network_;
  std::map<std::uint64_t, std::unique_ptr<ProxyLink>> links_;  // by number: descriptors come again
  std::uint64_t last_link_ = 0;
  ProxyLink::Clock::time_point accepts_from_{};  // later where descriptors have run out
  bool refuses_ = false;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace mortise::test
