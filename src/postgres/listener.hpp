// SPDX-License-Identifier: MIT
// The connection by which a client is notified of releases, and whether it can be notified at all.
#pragma once

#include <mortise/backend.hpp>

#include "postgres/connection.hpp"
#include "postgres/parts.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>

namespace mortise::postgres {

/// It is made when a caller has to wait for the first time.
/// @thread_safety every member may be called concurrently
class Listener {
 public:
  /// Whether the server can notify this client of releases.
  enum class Hearing : char { unknown, pooled, possible };
  using Make = std::function<std::unique_ptr<Connection>(std::string listen)>;

  /// @return the answer of the URL alone.
  [[nodiscard]] static Hearing hearing_by(const Settings& settings) noexcept;

  /// @param parts outlive it
  Listener(Parts& parts, Make make)
      : parts_(parts), make_(std::move(make)), hearing_(hearing_by(parts.settings)) {}

  [[nodiscard]] Hearing hearing() const noexcept { return hearing_.load(); }
  /// A connection is up.
  void note(const Connection& connection) noexcept {
    hearing_.store(connection.shown().is_pooled ? Hearing::pooled : Hearing::possible);
  }
  /// @return true if notifications come now.
  [[nodiscard]] bool listens() const noexcept { return listening_.load(); }
  /// @return true if they come, or will come soon.
  [[nodiscard]] bool may_hear() const noexcept;
  /// An attempt waits: notifications are to come, if they can. @param of_client any attempt of it
  void open(const AttemptId& of_client);

  /// It is up.
  void came_up();
  /// It was lost, or could not be made.
  void lost(const ServerError& why);
  /// As Pool::request().
  void request(Connection::Request request);
  /// Closes it if no attempt has waited for a while; otherwise it has to show that it lives.
  /// @return true if it is still there
  [[nodiscard]] bool tidy();
  /// Call this when no thread can attach its source any more. @return what was not answered
  void close() noexcept;

  /// Sends a census by that connection.
  static void ask(Connection& connection, Flight census);
  /// No connection for statements is up: the listener asks instead.
  void ask_instead(Flight census);
  /// The connection that serves an attempt of the client stands still.
  void note_client(const AttemptId& attempt);

 private:
  [[nodiscard]] bool is_deaf() const noexcept;

  Parts& parts_;
  const Make make_;
  std::atomic<Hearing> hearing_;
  std::atomic<Connection*> connection_{nullptr};
  std::atomic<bool> listening_{false};
  std::atomic<bool> was_wanted_{false};      // for an attempt, lately
  std::atomic<Instant::rep> deaf_until_{0};  // it is not tried before: it was refused

  std::mutex mutex_;
  std::unique_ptr<Connection> owner_;
  AttemptId of_client_{};  // any attempt of it
};

}  // namespace mortise::postgres
