// SPDX-License-Identifier: MIT
// The backend of one PostgreSQL database: turns requests into statements, and what the server says
// into completions.
#pragma once

#include <mortise/backend.hpp>

#include "postgres/answer.hpp"
#include "postgres/attempts.hpp"
#include "postgres/bell.hpp"
#include "postgres/connection.hpp"
#include "postgres/contested.hpp"
#include "postgres/later.hpp"
#include "postgres/pool.hpp"
#include "postgres/settings.hpp"
#include "postgres/statements.hpp"
#include "remote/outbox.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace mortise::postgres {

/// How soon to look again where nobody will tell, after so many looks in vain.
inline constexpr std::chrono::milliseconds longest_look{250};
[[nodiscard]] std::chrono::nanoseconds next_look(unsigned in_vain);

/// @return whether it is of the names that owners and readers have, and no space of its own.
[[nodiscard]] constexpr bool is_lock(Mode mode) noexcept {
  return mode == Mode::exclusive || mode == Mode::shared;
}

/// Which of these processes of the server live? Nobody waits for the answer.
struct Census final : Operation {
  explicit Census(std::vector<std::int64_t> of) : processes(std::move(of)) {}
  const std::vector<std::int64_t> processes;
};

/// Tells those who wait for names. Nobody waits for the answer.
struct Wake final : Operation {
  explicit Wake(Bell::Names of) : names(std::move(of)) {}
  const Bell::Names names;
};

/// A few connections for statements, and one that listens, made when somebody has to wait for the
/// first time. Nothing is kept on a connection: while there is none, requests wait here, and those
/// that were not answered are sent once more; every statement may be repeated.
class PostgresBackend final : public Backend, private Connection::User {
 public:
  explicit PostgresBackend(Settings settings);
  ~PostgresBackend() override;

  [[nodiscard]] Capabilities capabilities() const override;
  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] std::string identity() const override;
  void start(Host& host) override;
  void stop() noexcept override;
  void acquire(const std::shared_ptr<Acquisition>& operation) override;
  void cancel(const std::shared_ptr<Acquisition>& operation) override;
  void renew(const std::shared_ptr<Renewal>& operation) override;
  void release(const std::shared_ptr<Release>& operation) override;
  void inspect(const std::shared_ptr<Inspection>& operation) override;
  void recall(const std::shared_ptr<Recollection>& operation) override;
  void check(const std::shared_ptr<Check>& operation) override;
  void list(const std::shared_ptr<Listing>& operation) override;
  void queue(const std::shared_ptr<QueueLook>& operation) override;

 private:
  /// Whether the server tells of releases.
  enum class Hearing : char { unknown, pooled, possible };

  // Connection::User
  void connected(Connection& connection) override;
  void answered(const Call& call, const Result& result) override;
  [[nodiscard]] bool withdrawn(const Call& call) const override;
  void dismissed(const Call& call) override;
  void held_up() override;
  void replaced() override;
  void notified(const std::string& payload) override;
  void stuck(Connection& connection, const ServerError& why, Flights unanswered,
             Flights unsent) override;
  void answered_late(const Call& call, const std::optional<Result>& result) override;
  void untold(Flights answered) noexcept override;
  void dropped(Connection& connection, const ServerError& why, bool was_up,
               Flights unanswered) override;

  [[nodiscard]] bool open(Operation& operation);
  void ask(const std::shared_ptr<Acquisition>& operation);
  [[nodiscard]] bool gives_way(const std::string& name) const;
  void ask_after_others(const std::shared_ptr<Acquisition>& operation);
  void let_others_ask(const Call& release, ReleaseOutcome outcome, bool others);
  void ask_at(const std::shared_ptr<Acquisition>& operation, Instant when);
  void take_back(const std::shared_ptr<Acquisition>& operation);
  void over(const AttemptId& attempt);
  void begin(Call::Kind kind, std::shared_ptr<Operation> operation);
  void submit(Call call);
  /// @param one alone; it stays where it is if there is no memory to send it, nor to put it off
  void submit(Flights& one);
  void send_or_put_off(Flights& one);
  [[nodiscard]] bool count(const Call& call);
  void not_sent(const Call& call);
  void relieve();
  [[nodiscard]] bool deaf() const noexcept;
  [[nodiscard]] Arguments prepare(Call& call, bool pooled);
  [[nodiscard]] static Arguments prepare_listing(Call& call);
  [[nodiscard]] Arguments prepare_release(Call& call, bool pooled);
  [[nodiscard]] bool is_over(const Call& call, Instant now) const;
  void put_in_outbox(Flights& one);
  void keep(Flights alone) noexcept;
  void submit_outbox();
  void resubmit(Flights& one);
  void resubmit_all(Flights calls);
  void again_at(const Call& call, Instant when);
  void again_soon(const Call& call);
  void look_after_stuck();
  void probe_listener();
  void send_by(Connection& connection, Call call);
  void wake(Bell::Names names);
  void ring(Mode mode, const std::string& name) noexcept;
  void open_listener(const AttemptId& of_client);
  [[nodiscard]] bool told(const Acquisition& wanted);
  void tidy_later();
  void tidy();

  void refused(const Call& call, const PqError& error);
  void nonsense(const Call& call);
  void not_done(const Call& call, const Failure& why, remote::Fate fate);
  [[nodiscard]] static bool in_doubt(const Call& call);
  void fail(const Call& call, const Failure& why);
  void answered_attempt(const Call& call, std::optional<Answer> read);
  void waits(const Call& call, const Answer& answer);
  void answered_release(const Call& call, ReleaseOutcome outcome);
  void answered_renewal(const Call& call, const Result& result);
  void answered_recall(const Call& call, const Result& result);
  void answered_list(const Call& call, const Result& result);
  void answered_check(const Call& call, const Result& result);
  void answered_queue(const Call& call, const Result& result);
  void answered_force(const Call& call, const Result& result);
  void give_back(const Acquisition& operation, std::uint64_t number);
  [[nodiscard]] bool outbox_pending();
  void flush_outbox();
  void note_unanswered(Flights& calls) noexcept;
  void note_lost_release(Call& call) noexcept;
  void look_at_lost();
  [[nodiscard]] bool leaves(const Call& call, const Failure& why, bool final, bool once_more);
  void lost_commands(const ServerError& why, bool was_up, Flights unanswered);
  void tell_who_waits(const Failure& why, bool final);
  void lost_listener(const ServerError& why);
  void name_moved();

  const Settings settings_;
  const Statements statements_;
  const std::string where_;
  Host* host_ = nullptr;
  std::shared_ptr<Clock> clock_;
  Attempts attempts_;
  Contested contested_;
  Bell bell_;
  Lineage lineage_;
  Later later_;
  std::unique_ptr<Pool> pool_;
  std::unique_ptr<remote::NameWatch> name_watch_;
  std::atomic<const Connection*> ringing_{nullptr};  // stuck, with a request of the bell's
  std::atomic<Connection*> listener_{nullptr};
  std::unique_ptr<Connection> listener_owner_;
  std::atomic<bool> stopped_{false};
  std::atomic<bool> attached_{false};  // `later_` and `name_watch_`
  std::atomic<bool> listening_{false};
  std::atomic<bool> listened_{false};        // for the sake of somebody, lately
  std::atomic<Instant::rep> deaf_until_{0};  // no listener is tried before: one was refused
  std::atomic<Hearing> hearing_{Hearing::unknown};

  std::mutex mutex_;
  remote::Outbox<Flight> outbox_;                     // to be sent when there is a connection
  Failure no_server_;                                 // why there is none
  std::vector<std::weak_ptr<Operation>> given_back_;  // releases that nobody waits for
  AttemptId of_client_{};                             // any of it
};

}  // namespace mortise::postgres
