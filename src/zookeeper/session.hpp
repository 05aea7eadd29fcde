// SPDX-License-Identifier: MIT
// One session at the server, again and again: resolve, connect, reconnect, expire, open anew. It
// knows nothing of locks, but counts their bytes.
#pragma once

#include <mortise/backend.hpp>

#include "base/random_id.hpp"
#include "base/resolver.hpp"
#include "zookeeper/handle.hpp"
#include "zookeeper/kept.hpp"
#include "zookeeper/life.hpp"
#include "zookeeper/settings.hpp"
#include "zookeeper/silence.hpp"
#include "zookeeper/watches.hpp"

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mortise::zookeeper {

/// Bytes of a session's budget. All that it owns is written into one packet by the server when it
/// ends, and all that it watches by the client when it has a new connection.
struct Paths {
  std::size_t owned = 0;
  std::size_t watched = 0;
};

/// The engine sees a source whose answers are atomics; everything else is called under the mutex of
/// the owner, who is called back under it.
class Session final : public Source, private Handle::User {
 public:
  /// Receives the reply to one request; may be empty.
  using Answer = std::function<void(const Reply&)>;
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
    /// for comes any more. Otherwise it ends soon; one that was given up does so behind
    /// `end_left()`
    virtual void session_over(Session& session, const Failure& why, bool at_server) = 0;
  };

  /// @param settings, tls outlive it; tls is null where nothing is encrypted
  Session(const Settings& settings, const remote::Tls* tls, std::shared_ptr<Clock> clock,
          Owner& owner);
  ~Session() override;

  /// Has it connect, and stay so.
  void want(Instant now);
  /// Has it try now: who comes is not charged for the tries that failed before.
  void urge(Instant now);
  void run(short events, Instant now);
  /// What is due by time alone.
  void tick(Instant now);
  /// Sends what was asked for. @return whether whoever polls has to look at the source again
  [[nodiscard]] bool publish();
  /// Has it end, with all that it owns at the server, and another one begin. The owner is told that
  /// it is over, and then calls `end_left()`.
  void give_up(std::string why) noexcept { given_up_ = std::move(why); }
  /// Has the session that was given up end at the server: whoever held by it knows that by now.
  void end_left(Instant now);
  /// Ends it at the server, by a request that nobody has answered yet.
  void end() noexcept;
  /// Behind `end()`: waits until then for the server to confirm it, and needs no mutex.
  void farewell(Instant until) noexcept;

  [[nodiscard]] bool up() const noexcept { return state_ == State::up; }
  [[nodiscard]] std::int64_t id() const noexcept { return handle_ ? handle_->session_id() : 0; }
  [[nodiscard]] std::chrono::milliseconds timeout() const noexcept { return timeout_; }
  /// @return a moment from which, or from later, the leader counts the time-out.
  [[nodiscard]] Instant proven() const noexcept { return life_.proven(); }
  /// @return whether enough of it is left for a lock to be granted by.
  [[nodiscard]] bool is_proven(Instant now) const noexcept {
    return now - proven() < timeout_ * 2 / 3;
  }
  /// @return in which time a follower has told the leader of a sign of life.
  [[nodiscard]] std::chrono::nanoseconds report() const noexcept { return life_.report(); }
  /// @return why it is not up; empty: no try has failed yet.
  [[nodiscard]] const Failure& trouble() const noexcept { return trouble_; }
  /// @return when `tick()` has something to do.
  [[nodiscard]] Instant next() const noexcept { return next_; }
  [[nodiscard]] bool containers() const noexcept { return containers_; }
  void no_containers() noexcept { containers_ = false; }

  /// @return the time by the leader's clock, as far as it is known.
  [[nodiscard]] LeadersTime leaders_time(Instant now) const noexcept;
  /// @return whether that is not known, or from a write that is long ago.
  [[nodiscard]] bool is_leaders_time_old(Instant now) const noexcept;

  // Requests; false: not sent, and nothing will come of it.
  bool create(const std::string& prefix, std::string_view data, Answer answer);
  /// @param while_needed it is to go when it has been empty for a while
  bool create_parent(const std::string& path, bool while_needed, std::string_view data,
                     Answer answer);
  bool remove(const std::string& path, Answer answer);
  bool list(const std::string& path, Answer answer, bool watch = false);
  bool get(const std::string& path, bool watch, Answer answer);
  bool exists(const std::string& path, Answer answer);
  /// See `Handle::write()`.
  bool write(std::vector<Write> writes, Answer answer);
  /// The list as the leader has it by now: the own server may be behind.
  bool list_in_sync(const std::string& path, Answer answer);
  /// The same of a node's data.
  bool get_in_sync(const std::string& path, Answer answer);
  bool sync(const std::string& path, Answer answer);
  bool set(const std::string& path, std::string_view data, Answer answer);
  /// See `Handle::refused_write()`.
  bool refused_write(const std::string& path, Answer answer);
  [[nodiscard]] bool idle() const noexcept { return calls_.empty(); }

  /// It waits for news of a path.
  void watch(const std::string& path, const std::shared_ptr<Watcher>& watcher) {
    watches_.add(path, watcher);
  }
  /// It no longer waits. If it was the last watcher, the server is notified.
  void unwatch(const std::string& path, const Watcher& watcher);
  /// The same, but the server may report one more change.
  void forget_watch(const std::string& path, const Watcher& watcher) {
    static_cast<void>(watches_.remove(path, watcher));
  }

  /// Of all attempts; of those that wait also what they do not watch yet.
  Paths paths{};
  /// How many wait for an event.
  std::size_t awaiting = 0;
  /// How many holds it has.
  std::size_t holding = 0;
  /// Keeps the session alive, and proves that it lives: see pulse.hpp.
  struct Pulse {
    Instant last{};            ///< when the last one was answered
    bool beats = false;        ///< one is on its way
    bool wanted = false;       ///< by a renewal, as soon as it proves something
    AttemptId last_written{};  ///< whose node was written last
    Instant proven{};          ///< when renewals were looked at last
    Instant unheard = never;   ///< since then one waits, and nothing was proven
  } pulse;
  [[nodiscard]] bool has_room(const Paths& more) const noexcept;

  // Source
  [[nodiscard]] int descriptor() const noexcept override { return shown_descriptor_.load(); }
  [[nodiscard]] short interest() const noexcept override { return shown_interest_.load(); }
  [[nodiscard]] Instant due() const noexcept override {
    return Instant(Instant::duration(shown_due_.load()));
  }
  [[nodiscard]] bool pushes() const noexcept override { return false; }
  [[nodiscard]] bool outstanding() const noexcept override { return shown_outstanding_.load(); }
  void ready(short events, Instant now) override { owner_.session_ready(*this, events, now); }

 private:
  enum class State : std::uint8_t { idle, resolving, waiting, connecting, up };
  enum class Kind : std::uint8_t { read, sync, write };
  struct Pending {
    Answer answer{};
    Instant asked{};
    Kind kind = Kind::read;
    Instant known{};       ///< what it proves if it is a write, and committed
    bool in_sync = false;  ///< it means nothing without the sync that was sent before it
    int sync_failed = 0;   ///< that one was refused
  };

  // Handle::User
  void connected() override { news_ = News::up; }
  void disconnected() override {
    if (news_ != News::no_user) news_ = News::down;
  }
  void expired() override { news_ = News::expired; }
  void refused() override { news_ = News::refused; }
  void replied(std::uint64_t number, const Reply& reply) override;
  void watched(std::string_view path, bool gone) override {
    for (const auto& watcher : watches_.take(path)) watcher->watched(path, gone);
  }

  template <class Send>
  bool request(Kind kind, Answer answer, Send send);
  void count(const Pending& pending, const Reply& reply);
  void begin(Instant now);
  void resolved(Instant now);
  void open(const std::string& servers, Hosts hosts, Instant now);
  void connect(Instant now);
  void look(Instant now);
  void attempt_failed(Instant now);
  void came_up(Instant now);
  void lost(Instant now, Failure why);
  void over(Instant now, const Failure& why, bool at_server);
  void leave(Instant now);
  [[nodiscard]] Instant next_of_state(Instant now) const noexcept;
  void pause(Instant now);
  void check_time(Instant now);
  void drain_calls(Code code);
  [[nodiscard]] Failure unavailable(const std::string& words) const;
  [[nodiscard]] Failure failure() const;

  enum class News : std::uint8_t { none, up, down, expired, refused, no_user };

  const Settings& settings_;
  const remote::Tls* const tls_;
  const std::shared_ptr<Clock> clock_;
  Owner& owner_;
  const std::string where_;

  State state_ = State::idle;
  News news_ = News::none;
  bool timed_out_ = false;
  std::vector<std::unique_ptr<base::Resolver>> resolvers_;
  std::vector<std::vector<std::string>> endpoints_;  // of each server, as numbers
  std::size_t unresolved_ = 0;
  std::string resolve_error_;
  Errc resolve_code_ = Errc::unavailable;
  std::string servers_;
  std::size_t endpoint_count_ = 1;
  std::vector<std::string>
      not_denied_;  // endpoints that have not refused us since they were resolved
  std::unique_ptr<Handle> handle_;
  std::unique_ptr<Handle> left_;  // of a session that was given up
  Instant left_until_ = never;  // until then the server is to read so; never: not before it is sent
  std::string given_up_;        // why it is to end; empty: it is not
  Silence silence_;             // of the server, on this connection
  Instant down_since_ = never;  // this session had no connection since then
  bool turned_away_ = false;    // ... and a server has hung up on its greeting
  bool outlived_ = false;       // what it has seen is not told any more
  std::chrono::milliseconds timeout_;
  Instant limit_ = never;  // of this state
  Instant next_ = never;
  Instant prepare_at_ = never;
  Instant asked_to_connect_{};
  Life life_;
  std::int64_t leader_wrote_{0};  // by its own clock, when it last told so
  Instant leader_asked_{};        // by ours, not later than that
  Instant leader_told_{};         // ... and not before
  std::size_t failures_ = 0;      // in a row
  Failure trouble_{};
  bool containers_ = true;
  base::SplitMix random_;

  std::map<std::uint64_t, Pending> calls_;
  std::uint64_t next_call_ = 1;
  Watches watches_;

  std::atomic<int> shown_descriptor_{-1};
  std::atomic<short> shown_interest_{0};
  std::atomic<Instant::rep> shown_due_{never.time_since_epoch().count()};
  std::atomic<bool> shown_outstanding_{false};
};

}  // namespace mortise::zookeeper
