// SPDX-License-Identifier: MIT
// One connection to the server, again and again: resolve, connect, greet, then statements and their
// results in order, until it breaks. It knows nothing of locks.
#pragma once

#include <mortise/backend.hpp>

#include "base/tuned_source.hpp"
#include "postgres/flight.hpp"
#include "postgres/greeting.hpp"
#include "postgres/lineage.hpp"
#include "postgres/route.hpp"
#include "postgres/server_error.hpp"
#include "postgres/settings.hpp"
#include "postgres/statements.hpp"
#include "postgres/waves.hpp"
#include "remote/link.hpp"

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace mortise::postgres {

/// A connection connects when it is wanted, and once more after it broke, until it is let go.
///
/// Any thread sends. One thread at a time, whoever has the reader's role, is inside `ready()`, and
/// only there the connection changes its state and its user is called.
/// @thread_safety every member may be called concurrently; the user is called under no mutex, but
/// for `withdrawn()`.
class Connection final : public base::TunedSource {
 public:
  /// Whom it tells.
  class User {
   public:
    virtual ~User() = default;
    /// Calls can be sent, or notifications come.
    virtual void connected(Connection& connection) = 0;
    /// The oldest call has its result, and its transaction is over. If this throws, there was no
    /// memory: the connection breaks, and the call counts as not answered.
    virtual void answered(Flight& call, const Result& result) = 0;
    /// These calls are not answered in time, but the server has them, and may be executing them: in
    /// a commit that waits for a standby, say. The connection is kept, and not up until it has
    /// their answers: another one would be one more process of the server's, which notices of none
    /// that nobody is behind it any more.
    /// @param unsent notifications that never left: none of them is answered late
    virtual void stuck(const ServerError& why, Flights unanswered, Flights unsent) = 0;
    /// One of those was answered after all. @param result null: its transaction has failed
    virtual void answered_late(const Call& call, const Result* result) = 0;
    /// Asked under the connection's mutex right before a call takes its place among the others:
    /// what is not wanted any more must not come behind what ended it. Must call nothing of the
    /// connection.
    [[nodiscard]] virtual bool withdrawn(const Call& call) const = 0;
    /// A call that had to wait for others was withdrawn in the meantime.
    virtual void dismissed(Flight& call) = 0;
    /// Only a notification, which may take long, is ahead of the calls that wait for the next wave.
    virtual void held_up() = 0;
    /// A server was met that has taken the place of those before.
    virtual void replaced() = 0;
    /// A listener heard something.
    virtual void notified(const std::string& payload) = 0;
    /// It broke, or could not be made. What was not answered may or may not have been executed.
    virtual void dropped(Connection& connection, const ServerError& why, bool was_up,
                         Flights unanswered) = 0;
  };
  /// @param listen the statement by which it listens; empty = a connection for calls
  /// @param settings, statements, user outlive it
  /// @param lineage of all connections of the client; outlives it
  Connection(Host& host, const Settings& settings, const Statements& statements, Lineage& lineage,
             std::string listen, User& user);
  ~Connection() override;

  /// Has it connect, and stay so. @param now true: without waiting for the back-off to pass
  void want(bool now = false);
  /// A step that the thread in the reader's role must take soon.
  enum class Request : char {
    look,        ///< it may be broken, although no reply is awaited
    retire,      ///< close it without a word to its user, unless something is under way
    give_up,     ///< drop it, as if it had broken
    forsake,     ///< drop it: the server has no such process any more, or is the wrong one
    if_outdated  ///< the same, if its server was replaced by another one
  };
  void request(Request request);
  /// For ever; call after the source was detached. @return what was not answered.
  [[nodiscard]] Flights close() noexcept;

  enum class Sent { sent, withdrawn, refused };
  /// Sends one call. @param one it, alone; it is taken if it is sent, and stays otherwise
  /// @return `refused`: not connected: nothing was done
  [[nodiscard]] Sent send(Flights& one, Arguments arguments);
  /// Gives back what waits for a wave, and was not sent.
  [[nodiscard]] Flights take_waiting() noexcept;

  /// The state that other threads may read without the mutex.
  struct Shown {
    std::atomic<int> descriptor{-1};
    std::atomic<short> interest{0};
    std::atomic<std::size_t> load{0};           ///< how many calls are not answered
    std::atomic<int> server_process{0};         ///< once it was up; without a pooler
    std::atomic<bool> is_pooled{false};         ///< a pooler is in between; once it was up
    std::atomic<bool> is_stuck{false};          ///< it awaits late answers: it will be up, or break
    std::atomic<bool> is_forsaken{false};       ///< it will be dropped
    std::atomic<bool> is_retired{false};        ///< it will be closed if nothing is under way
    mutable std::atomic<bool> was_used{false};  ///< anything was sent since that was reset
  };
  [[nodiscard]] const Shown& shown() const noexcept { return shown_; }
  [[nodiscard]] bool up() const noexcept {
    return link_.is_up() && !shown_.is_stuck.load() && !shown_.is_forsaken.load();
  }
  [[nodiscard]] bool stuck() const noexcept { return shown_.is_stuck.load(); }
  [[nodiscard]] bool wanted() const noexcept { return link_.is_wanted(); }
  /// Has the name of its server watched. Only from inside `connected()` of its user.
  void watch(remote::NameWatch& names) const { route_.watch(names); }
  /// @return true if it will send what tells other clients of a free name, or if a request under
  /// way may take what no caller wants any more.
  [[nodiscard]] bool delays_close() const;

  // Source
  [[nodiscard]] int descriptor() const noexcept override { return shown_.descriptor.load(); }
  [[nodiscard]] short interest() const noexcept override { return shown_.interest.load(); }
  [[nodiscard]] Instant due() const noexcept override;
  [[nodiscard]] bool pushes() const noexcept override { return greeting_.listens(); }
  [[nodiscard]] bool outstanding() const noexcept override;
  [[nodiscard]] bool linger() override;
  void ready(short events, Instant now) override;

 private:
  using State = remote::Link::State;

  void next_server(Instant now);
  void advance(Instant now);
  void greeted(Instant now);
  void fail_over(const ServerError& why, Instant now);
  void drop(const ServerError& why);
  void receive();
  void report(Flights done, bool is_late);
  void check_time(Instant now);
  void go_on_locked(Instant now, bool is_alone, Flights& dismissed);
  [[nodiscard]] ServerError broken();

  Host& host_;
  User& user_;
  const std::shared_ptr<Clock> clock_;

  std::mutex reading_;  // the reader's role: whoever has it is inside `ready()`
  // Of that role.
  Route route_;
  Greeting greeting_;
  std::optional<ServerError> why_not_;  // this server, or the one before, would not do

  remote::Link link_;
  Shown shown_;

  mutable std::mutex mutex_;
  Waves waves_;
  Instant stuck_until_{};  // when a pooler's is given up anyway
};

}  // namespace mortise::postgres
