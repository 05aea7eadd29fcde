// SPDX-License-Identifier: MIT
// One session at the servers, again and again: its requests, what their replies prove, and its
// watches. It knows nothing of locks, but counts their bytes.
#pragma once

#include <mortise/backend.hpp>

#include "remote/timer.hpp"
#include "zookeeper/calls.hpp"
#include "zookeeper/connection.hpp"
#include "zookeeper/leaders_clock.hpp"
#include "zookeeper/life.hpp"
#include "zookeeper/watches.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace mortise::zookeeper {

/// Bytes of a session's budget. All that it owns is written into one packet by the server when it
/// ends, and all that it watches by the client when it has a new connection.
struct Paths {
  std::size_t owned = 0;
  std::size_t watched = 0;
};

/// What the attempts of a client have in a session. They count it themselves.
struct Load {
  Paths paths{};             ///< of those that wait also the paths that they do not watch yet
  std::size_t awaiting = 0;  ///< how many wait for an event
  std::size_t holding = 0;   ///< how many holds there are
};

/// What the thread that polls sees of a session, without its mutex.
class ShownSource : public Source {
 public:
  [[nodiscard]] int descriptor() const noexcept final { return descriptor_.load(); }
  [[nodiscard]] short interest() const noexcept final { return interest_.load(); }
  [[nodiscard]] Instant due() const noexcept final { return due_.get(); }
  [[nodiscard]] bool pushes() const noexcept final { return false; }
  [[nodiscard]] bool outstanding() const noexcept final { return is_outstanding_.load(); }

 protected:
  /// @return true if the thread that polls has to look at the source again.
  [[nodiscard]] bool show(int descriptor, short interest, Instant due,
                          bool is_outstanding) noexcept {
    is_outstanding_.store(is_outstanding);
    const bool has_moved = descriptor_.exchange(descriptor) != descriptor;
    const bool has_changed = interest_.exchange(interest) != interest;
    return due_.set(due) || has_moved || has_changed;
  }

 private:
  std::atomic<int> descriptor_{-1};
  std::atomic<short> interest_{0};
  remote::Moment due_;
  std::atomic<bool> is_outstanding_{false};
};

/// The engine sees a source whose answers are atomics; everything else is called under the mutex of
/// the owner, who is called back under it.
class Session final : public Connection, public ShownSource {
 public:
  class Owner {
   public:
    virtual ~Owner() = default;
    /// The engine's thread is here: take the mutex and call `run()`.
    virtual void session_ready(Session& session, short events, Instant now) = 0;
    virtual void session_up(Session& session) = 0;
    /// The connection broke, or could not be made: requests were answered `unknown`.
    virtual void session_down(Session& session) = 0;
    /// Nothing more can be asked of the session.
    /// @param at_server it has ended there: what it owned is gone, and nothing that it was asked
    /// for comes any more. Otherwise it ends soon; one that was given up does so after
    /// `end_left()`
    virtual void session_over(Session& session, const Failure& why, bool at_server) = 0;
  };

  /// @param settings, tls, owner outlive it; tls is null if the connection is not encrypted
  Session(const Settings& settings, const remote::Tls* tls, std::shared_ptr<Clock> clock,
          Owner& owner)
      : Connection(settings, tls), settings_(settings), clock_(std::move(clock)), owner_(owner) {}
  /// The C client answers all requests that are under way.
  ~Session() override { farewell({}); }

  void run(short events, Instant now);
  /// What is due by time alone.
  void tick(Instant now);
  /// Sends what was asked for. @return true if the thread that polls has to look at the source
  /// again
  [[nodiscard]] bool publish() noexcept;
  /// @return when `tick()` has something to do.
  [[nodiscard]] Instant next() const noexcept;

  /// Asks a server. @return false: there is no connection, and no reply comes
  bool ask(Request request, Calls::Answer answer);
  /// The same, with data that the leader has by now: the own server may be behind.
  bool ask_in_sync(Request request, Calls::Answer answer);

  [[nodiscard]] const Life& life() const noexcept { return life_; }
  /// @return true if enough of it is left for a lock to be granted by.
  [[nodiscard]] bool is_proven(Instant now) const noexcept {
    return now - life_.proven() < timeout() * 2 / 3;
  }
  [[nodiscard]] const LeadersClock& leaders_clock() const noexcept { return leaders_clock_; }

  /// The attempts that wait for news of a path.
  [[nodiscard]] Watches& watches() noexcept { return watches_; }
  /// It no longer waits. If it was the last watcher, the server is notified.
  void unwatch(const std::string& path, const Watcher& watcher);

  Load load{};
  [[nodiscard]] bool has_room(const Paths& more) const noexcept;

  // Source
  void ready(short events, Instant now) override { owner_.session_ready(*this, events, now); }

 private:
  // Handle::User
  void replied(std::uint64_t number, const Reply& reply) override;
  void watched(std::string_view path, bool gone) override;
  // Connection
  void came_up() override;
  void went_down() override;
  void ended(const Failure& why, bool at_server) override;

  void send();
  void prove(const Calls::Call& call, const Reply& reply);
  /// @return the time after which a server is silent that has given no reply.
  [[nodiscard]] std::chrono::nanoseconds patience() const noexcept { return timeout() / 3; }

  const Settings& settings_;
  const std::shared_ptr<Clock> clock_;
  Owner& owner_;
  Calls calls_;
  Watches watches_;
  Life life_;
  LeadersClock leaders_clock_;
};

}  // namespace mortise::zookeeper
