// SPDX-License-Identifier: MIT
// The connections of one session, one after the other, and its end: looks the servers up, connects,
// reconnects, and begins another session when this one is over.
#pragma once

#include "remote/stream/tls.hpp"
#include "zookeeper/connect_course.hpp"
#include "zookeeper/endpoints.hpp"
#include "zookeeper/handle.hpp"
#include "zookeeper/settings.hpp"

#include <memory>
#include <string>
#include <utility>

namespace mortise::zookeeper {

/// A session that the client has given up. All that it owns goes with it, whatever permissions
/// there are for its nodes. Nothing is sent at first: the owners of its holds have to know of their
/// loss, since another client may have the names as soon as a server has read that the session
/// ends.
class LeftSession {
 public:
  void take(std::unique_ptr<Handle> handle) noexcept;
  /// The owners know it.
  void send(Instant now) noexcept;
  /// Drops the connection when the server has had time to read that.
  void tick(Instant now) noexcept;
  /// @return when `tick()` does so.
  [[nodiscard]] Instant until() const noexcept { return until_; }
  /// See `Handle::farewell()`.
  void farewell(Instant until) noexcept;

 private:
  std::unique_ptr<Handle> handle_;
  Instant until_ = never;  // never: it is not sent
};

class Connection : protected Handle::User {
 public:
  /// @param settings, tls outlive it; tls is null if the connection is not encrypted
  Connection(const Settings& settings, const remote::Tls* tls);

  /// Has it connect, and stay so.
  void want(Instant now);
  /// Has it try now: a new caller is not charged for the tries that failed before.
  void urge(Instant now) noexcept { course_.urge(now); }
  /// Has the session end, with all that it owns at the server, and another one begin.
  /// `session_over()` follows, and then the owner calls `end_left()`.
  void give_up(std::string why) noexcept { given_up_ = std::move(why); }
  /// Has the session that was given up end at the server: the owners of its holds know that.
  void end_left(Instant now) noexcept { left_.send(now); }
  /// Ends it at the server, by a request that nobody has answered yet.
  void end() noexcept;
  /// After `end()`: waits until then for the server to confirm it, and needs no mutex.
  void farewell(Instant until) noexcept;

  [[nodiscard]] bool up() const noexcept { return course_.state() == ConnectCourse::State::up; }
  [[nodiscard]] std::int64_t id() const noexcept { return handle_ ? handle_->session_id() : 0; }
  [[nodiscard]] std::chrono::milliseconds timeout() const noexcept { return course_.timeout(); }
  /// @return why it is not up; empty: no try has failed yet.
  [[nodiscard]] const Failure& trouble() const noexcept { return trouble_; }

 protected:
  [[nodiscard]] ConnectCourse& course() noexcept { return course_; }
  /// @return null: there is none.
  [[nodiscard]] Handle* handle() const noexcept { return handle_.get(); }
  struct Polled {
    int descriptor = -1;
    short interest = 0;
  };
  [[nodiscard]] Polled polled() const noexcept;
  /// @return when `process()` or `step()` has something to do, even if nothing comes by then.
  [[nodiscard]] Instant next_step() const noexcept;
  /// Handles what the descriptor is ready for.
  void process(short events, Instant now);
  /// Does what is due by time alone.
  void step(Instant now);
  /// The next `process()` finds the connection broken.
  void break_off(int error) noexcept;

  virtual void came_up() = 0;
  /// The connection broke, or could not be made: no reply comes any more.
  virtual void went_down() = 0;
  /// See `Session::Owner::session_over()`.
  virtual void ended(const Failure& why, bool at_server) = 0;

 private:
  void begin(Instant now);
  void find(Instant now);
  void connect(Instant now);
  void look(Instant now);
  void not_connected(Instant now);
  void greeted(Instant now);
  void over(Instant now, const Failure& why, bool at_server);
  void leave(Instant now);
  [[nodiscard]] Failure failure() const;

  const Settings& settings_;
  const remote::Tls* const tls_;
  Endpoints endpoints_;
  ConnectCourse course_;
  std::unique_ptr<Handle> handle_;
  Instant prepare_at_ = never;
  std::string given_up_;  // why the session is to end; empty: it is not
  LeftSession left_;
  Failure trouble_{};
};

}  // namespace mortise::zookeeper
