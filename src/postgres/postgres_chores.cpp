// SPDX-License-Identifier: MIT
// What the backend does beside requests: the listener, those who are woken and let in between, what
// has become idle or stuck.
#include "base/farewell.hpp"
#include "base/mutant.hpp"
#include "base/poll_sources.hpp"
#include "core/figures.hpp"
#include "postgres/postgres_backend.hpp"
#include "postgres/steps.hpp"

#include <new>
#include <utility>

namespace mortise::postgres {
namespace {

// Whoever was refused as a listener may be admitted later: an administrator has locked it out for a
// while.
constexpr std::chrono::seconds deaf_time{5};
constexpr std::chrono::seconds idle_time{3};  // what was not used for so long, or twice, is closed
constexpr std::chrono::milliseconds a_moment{5};
// Who is told of a release asks within it, and the way to the server and back; unless what tells
// waits for the notifications of others.
constexpr std::chrono::milliseconds time_for_others{3};
// A release that was not answered for so long is in trouble, and nobody is told of it soon.
constexpr std::chrono::milliseconds longest_courtesy{250};

}  // namespace

void PostgresBackend::open_listener(const AttemptId& of_client) {
  listened_.store(true);
  if (listener_.load() == nullptr) {
    const std::lock_guard lock(mutex_);
    if (listener_owner_ || stopped_.load()) return;
    Connection::User& user = *this;
    listener_owner_ = std::make_unique<Connection>(*host_, settings_, statements_, lineage_,
                                                   statements_.listen(of_client), user);
    listener_.store(listener_owner_.get());
    host_->attach(*listener_owner_);
  }
  if (!listening_.load()) listener_.load()->want();
}

bool PostgresBackend::deaf() const noexcept {
  return clock_->now() < Instant(Instant::duration(deaf_until_.load()));
}

void PostgresBackend::lost_listener(const ServerError& why) {
  listening_.store(false);
  if (why.kind == ServerError::Kind::final) {
    // Meanwhile who waits looks by time.
    const Instant until =
        base::mutant("postgres.deaf_for_ever") ? never : clock_->now() + deaf_time;
    deaf_until_.store(until.time_since_epoch().count());
  } else {
    listener_.load()->want();
  }
}

void PostgresBackend::relieve() {
  Flights waiting = pool_->relieve();
  // All of them first: a name's calls go the way of those that are counted.
  for (const Call& call : waiting) not_sent(call);
  resubmit_all(std::move(waiting));
}

void PostgresBackend::held_up() {
  if (!stopped_.load() && !base::mutant("postgres.held_up_behind_notify")) relieve();
}

void PostgresBackend::tidy_later() {
  if (later_.tidy_at(clock_->now() + idle_time)) host_->changed(later_);
}

// In a transaction of its own, so that no release depends on it, and one at a time.
void PostgresBackend::wake(Bell::Names names) {
  if (names.empty() || stopped_.load() || base::mutant("postgres.forget_to_wake")) return;
  Flights one;
  try {
    // First all that needs memory: what the bell takes for under way must come to an answer.
    one.emplace_back(Call::made(Call::Kind::wake, nullptr, clock_->now()));
    one.front().operation = std::make_shared<Wake>(std::move(names));
  } catch (const std::bad_alloc&) {
    return bell_.lost(names);  // they are moved only where there is memory
  }
  submit(one);
}

/// Has whoever waits for it told. Nothing depends on that: where there is no memory for it, those
/// look by time.
void PostgresBackend::ring(Mode mode, const std::string& name) noexcept {
  // Owners and readers wait for the same names.
  const Mode space = is_lock(mode) ? Mode::exclusive : mode;
  base::without_memory([&] { wake(bell_.freed({.mode = space, .name = name})); });
}

// A connection that does not answer is kept, since its process may be waiting for a standby. Where
// somebody in between has lost it, the process has gone: the server knows.
void PostgresBackend::look_after_stuck() {
  std::vector<std::int64_t> processes = pool_->stuck_processes();
  if (processes.empty()) return;
  Call call =
      Call::made(Call::Kind::census, std::make_shared<Census>(std::move(processes)), clock_->now());
  Connection* connection = pool_->choose(call).connection;
  if (connection == nullptr && listening_.load()) connection = listener_.load();
  if (connection != nullptr) send_by(*connection, std::move(call));
  AttemptId of_client;
  {
    const std::lock_guard lock(mutex_);
    of_client = of_client_;
  }
  if (!pool_->up() && hearing_.load() == Hearing::possible && !deaf()) {
    open_listener(of_client);
  }
}

// A listener that somebody on the way has forgotten looks like one to which nothing has come: as
// long as anybody waits it is asked for a word now and then. Without an answer it is made anew.
void PostgresBackend::probe_listener() {
  send_by(*listener_.load(),
          Call::made(Call::Kind::census, std::make_shared<Census>(std::vector<std::int64_t>{}),
                     clock_->now()));
}

void PostgresBackend::send_by(Connection& connection, Call call) {
  Arguments arguments = prepare(call, false);
  Flights one;
  one.emplace_back(std::move(call));
  static_cast<void>(connection.send(one, std::move(arguments)));
}

// What is taken back where its call has ended, or may have to be: another copy of what was asked
// for may be granted it yet.
bool PostgresBackend::outbox_pending() {
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(given_back_, [](const std::weak_ptr<Operation>& each) {
      const std::shared_ptr<Operation> release = each.lock();
      return !release || release->done();
    });
    if (!given_back_.empty()) return true;
  }
  // Whoever waits in another client for what was freed just now is told by nobody else. A request
  // that has left the server executes without us, however long its NOTIFY takes.
  const Instant now = clock_->now();
  return (bell_.keeps_some() && pool_->up()) || pool_->delays_close() ||
         attempts_.any_taken_back() || attempts_.is_any_pending(now, now);
}

// close() waits for what callers free, and for what the library takes back for them. Of this only
// we know, and it would keep a name from everybody until its lease has ended. There is no thread of
// the library's any more that reads the answers.
void PostgresBackend::flush_outbox() {
  if (base::mutant("postgres.close_leaves_the_outbox")) return;
  attempts_.hurry(clock_->now());
  Steps steps;
  steps.make([this] { look_at_lost(); });
  const Instant until = BootClock::now() + core::command_timeout(core::longest_lease);
  while (outbox_pending() && BootClock::now() < until) {
    std::vector<Source*> sources = pool_->sources();
    sources.push_back(&later_);
    base::poll_sources(sources, *clock_, clock_->now() + a_moment);
  }
}

void PostgresBackend::tidy() {
  bool more = pool_->tidy();
  Steps steps;
  steps.make([this] { look_after_stuck(); });
  steps.make([this] { submit_outbox(); });
  Connection* const listener = listener_.load();
  if (listener != nullptr && listening_.load()) {
    const bool idle = !listened_.exchange(false) && !attempts_.anybody_waits();
    if (idle) {
      listening_.store(false);
      listener->retire();
    }
    if (!idle) steps.make([this] { probe_listener(); });
    more = more || !idle;
  }
  if (more) steps.make([this] { tidy_later(); });
  steps.rethrow();
}

// Where a queue at the server says whose turn it is there is no need to. Whether we hear of
// releases says nothing of the others: those whom the server speaks of do.
bool PostgresBackend::gives_way(const std::string& name) const {
  if (base::mutant("postgres.keeps_the_turn")) return false;
  const bool deaf = hearing_.load() == Hearing::pooled;
  if (deaf && base::mutant("postgres.keeps_the_turn_behind_a_pooler")) return false;
  return !settings_.fair && contested_.has(name);
}

// Who waits in other clients is told in a transaction of its own, behind the release. What we ask
// for right behind that would have the lock again by then, turn after turn, and nobody be told of
// anything. Nor may it be asked for when we hear of the release ourselves: whoever is a little
// nearer to the server than the others would win every time.
void PostgresBackend::ask_after_others(const std::shared_ptr<Acquisition>& operation) {
  if (attempts_.give_way(operation)) ask_at(operation, clock_->now() + longest_courtesy);
}

// The others are told now. Their way may be longer than ours, which the release has measured.
void PostgresBackend::let_others_ask(const Call& release, ReleaseOutcome outcome, bool others) {
  const std::shared_ptr<Acquisition>& operation = release.release().successor();
  if (!operation || !attempts_.gives_way(operation->request().attempt)) return;
  const bool locked = outcome == ReleaseOutcome::locked;
  if (!others && !locked) return ask(operation);
  // The server has answered, and it is not our turn. Whose time ends now has met others, and not a
  // server that does not answer.
  if (!base::mutant("postgres.rest_is_no_answer")) operation->queued(operation->holder());
  if (locked) return;
  const Instant now = clock_->now();
  ask_at(operation, now + time_for_others + (now - release.asked));
}

void PostgresBackend::ask_at(const std::shared_ptr<Acquisition>& operation, Instant when) {
  again_at(Call::made(Call::Kind::acquire, operation, clock_->now()), when);
}

}  // namespace mortise::postgres
