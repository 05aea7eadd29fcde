// SPDX-License-Identifier: MIT
// One connection to the server, again and again: resolve, connect, greet, then statements and their
// results in order, until it breaks. It knows nothing of locks.
#pragma once

#include <mortise/backend.hpp>

#include "base/tuned_source.hpp"
#include "postgres/answer.hpp"
#include "postgres/flight.hpp"
#include "postgres/lineage.hpp"
#include "postgres/pq.hpp"
#include "postgres/route.hpp"
#include "postgres/server_error.hpp"
#include "postgres/settings.hpp"
#include "postgres/statements.hpp"
#include "remote/link.hpp"
#include "remote/round_trip.hpp"
#include "remote/server_clock.hpp"

#include <atomic>
#include <list>
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
    /// The oldest call has its result, and its transaction is over.
    virtual void answered(const Call& call, const Result& result) = 0;
    /// These calls are not answered in time, but the server has them, and may be executing them: in
    /// a commit that waits for a standby, say. The connection is kept, and not up until it has
    /// their answers: another one would be one more process of the server's, which notices of none
    /// that nobody is behind it any more.
    /// @param unsent what tells and never left: it is not answered late, and goes another way
    virtual void stuck(Connection& connection, const ServerError& why, Flights unanswered,
                       Flights unsent) = 0;
    /// One of those was answered after all. @param result none: its transaction has failed
    virtual void answered_late(const Call& call, const std::optional<Result>& result) = 0;
    /// These answers came, and what is above could not take them in, for want of memory.
    virtual void untold(Flights answered) noexcept = 0;
    /// Asked under the connection's mutex right before a call takes its place among the others:
    /// what is not wanted any more must not come behind what ended it. Must call nothing of the
    /// connection.
    [[nodiscard]] virtual bool withdrawn(const Call& call) const = 0;
    /// A call that had to wait for others was withdrawn meanwhile.
    virtual void dismissed(const Call& call) = 0;
    /// What waits for the next wave has nothing in front of it but one that tells, which may take
    /// long.
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
  /// Drops it, and connects no more until it is wanted again. Only from inside its user.
  void drop(const ServerError& why);
  /// Has it looked at soon, although nobody awaits a reply: it may be broken.
  void suspect();
  /// Closes it soon, without a word to its user, unless something is under way.
  void retire();
  /// @return whether anything was sent since that was asked last.
  [[nodiscard]] bool was_used() noexcept { return used_.exchange(false); }
  /// For ever; call after the source was detached. @return what was not answered.
  [[nodiscard]] Flights close() noexcept;

  enum class Sent { sent, withdrawn, refused };
  /// Sends one call. @param one it, alone; it is taken if it is sent, and stays otherwise
  /// @return `refused`: not connected: nothing was done
  [[nodiscard]] Sent send(Flights& one, Arguments arguments);
  [[nodiscard]] bool up() const noexcept {
    return link_.is_up() && !stuck_.load() && !forsaken_.load();
  }
  /// @return whether it awaits answers that are late: it will be up again, or break.
  [[nodiscard]] bool stuck() const noexcept { return stuck_.load(); }
  /// @return the process of the server that serves it, once it was up; without a pooler.
  [[nodiscard]] int server_process() const noexcept { return server_process_.load(); }
  /// Drops it soon: the server has no such process any more.
  void forsake();
  /// The same, if its server was replaced by another one.
  void forsake_outdated();
  /// Has the name of its server watched. Only from inside `connected()` of its user.
  void watch(remote::NameWatch& names) const { route_.watch(names); }
  [[nodiscard]] bool wanted() const noexcept { return link_.is_wanted(); }
  /// @return true if it will send what tells other clients of a free name, or if a request under
  /// way may take what no caller wants any more.
  [[nodiscard]] bool delays_close() const;
  /// Gives back what waits for a wave, and was not sent.
  [[nodiscard]] Flights take_waiting() noexcept;
  /// @return how many calls are not answered.
  [[nodiscard]] std::size_t load() const noexcept { return load_.load(); }
  /// @return whether a pooler is in between; once it was up.
  [[nodiscard]] bool pooled() const noexcept { return pooled_.load(); }

  // Source
  [[nodiscard]] int descriptor() const noexcept override { return descriptor_.load(); }
  [[nodiscard]] short interest() const noexcept override { return interest_.load(); }
  [[nodiscard]] Instant due() const noexcept override;
  [[nodiscard]] bool pushes() const noexcept override { return !listen_.empty(); }
  [[nodiscard]] bool outstanding() const noexcept override;
  [[nodiscard]] bool linger() override;
  void ready(short events, Instant now) override;

 private:
  using State = remote::Link::State;

  void begin(Instant now);
  void next_server(Instant now);
  void advance(Instant now);
  void greet();
  void greeted(Instant now);
  void take_greeting(Instant now);
  [[nodiscard]] std::optional<ServerError> unfit(const std::optional<ServerFacts>& facts) const;
  void settle_in(Instant now);
  void fail_over(const ServerError& why, Instant now);
  void receive();
  [[nodiscard]] Sent queue(Flights& one, Flights& dismissed);
  [[nodiscard]] bool may_send_locked(Instant now);
  [[nodiscard]] Instant wave_due_locked() const noexcept;
  void look_for_refusal(const Flight& flight);
  [[nodiscard]] bool waits_for_what_tells() const;
  [[nodiscard]] Instant deadline_locked() const noexcept;
  [[nodiscard]] Instant second_wave_locked() const noexcept;
  void send_wave_locked(Instant now);
  [[nodiscard]] bool prepare_keys_locked();
  void next_wave_locked(Instant now, Flights& dismissed);
  /// Which calls of a wave are one transaction.
  enum class Together : char { none, releases, takes };
  [[nodiscard]] static Together shares(const Call& call) noexcept;
  [[nodiscard]] Flights take_out_locked(Together kind);
  [[nodiscard]] bool send_together_locked(Flights& flights);
  [[nodiscard]] bool take_locked(Result result, Flights& done);
  void read_time_locked(const Flights& done, bool late, Instant now) noexcept;
  [[nodiscard]] Flights take_all_locked() noexcept;
  void check_time(Instant now);
  void leave();
  void get_stuck(Instant now);
  void look_again_locked() noexcept;
  [[nodiscard]] ServerError lost(const char* words, Errc code = Errc::unavailable) const;
  [[nodiscard]] ServerError broken();

  Host& host_;
  const Settings& settings_;
  const Statements& statements_;
  Lineage& lineage_;
  const std::string listen_;
  const std::string where_;
  User& user_;
  const std::shared_ptr<Clock> clock_;

  std::mutex reading_;  // the reader's role: whoever has it is inside `ready()`
  // Of that role.
  Route route_;
  ServerError last_;  // why the server before this one would not do
  std::optional<Result> greeting_;
  bool settling_ = false;                   // the second half of the greeting
  std::optional<ServerError> turned_away_;  // it answers, and others have to be asked

  remote::Link link_;
  std::atomic<bool> stuck_{false};  // `flights_` were told of as unanswered
  std::atomic<bool> forsaken_{false};
  std::atomic<int> server_process_{0};
  std::atomic<bool> retired_{false};
  std::atomic<bool> used_{false};
  std::atomic<bool> pooled_{false};
  std::atomic<int> descriptor_{-1};
  std::atomic<short> interest_{0};
  std::atomic<std::size_t> load_{0};

  mutable std::mutex mutex_;
  std::unique_ptr<Pq> pq_;
  Flights flights_;             // of the waves that are under way
  std::size_t first_wave_ = 0;  // how many of them the older one has
  std::size_t results_ = 0;     // that are there of the first transaction
  Flights::iterator latest_;    // whose came last, while there are any
  Instant wave_sent_{};         // the younger one
  Instant heard_{};
  Instant stuck_until_{};  // when a pooler's is given up all the same
  Flights queued_;         // for the next one
  /// Whether the statements for keys are prepared. Until then they go with their text.
  enum class Prepared : char { no, under_way, yes };
  Prepared keys_ = Prepared::no;
  /// The server that it leads to.
  struct Peer {
    Whereabouts place{};
    remote::ServerClock time{};
    std::uint64_t clock = 0;  ///< which clock that is: no two servers have the same
    Instant greeted{};        ///< ours, before the greeting left
    remote::RoundTrip round_trips{};
  };
  Peer peer_;
};

}  // namespace mortise::postgres
