// SPDX-License-Identifier: MIT
// What the library asks for, on its way to the server. Results are in postgres_replies.cpp, what is
// asked later or once more in postgres_repeats.cpp, by which statement in postgres_asking.cpp.
#include "postgres/postgres_backend.hpp"

#include "base/farewell.hpp"
#include "base/mutant.hpp"
#include "core/figures.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace mortise::postgres {

PostgresBackend::PostgresBackend(Settings settings)
    : settings_(std::move(settings)),
      statements_(settings_.schema, settings_.fair),
      where_("postgresql " + settings_.where()),
      attempts_(settings_.fair),
      later_([this](Flights call) { resubmit_all(std::move(call)); }, [this] { tidy(); }, attempts_,
             [this](const auto& operation) { take_back(operation); }) {
  if (settings_.pooled) hearing_ = *settings_.pooled ? Hearing::pooled : Hearing::possible;
}

PostgresBackend::~PostgresBackend() = default;

void PostgresBackend::start(Host& host) {
  host_ = &host;
  clock_ = host.clock();
  Connection::User& user = *this;
  name_watch_ =
      std::make_unique<remote::NameWatch>(host, where_, [this](const Failure&) { name_moved(); });
  pool_ = std::make_unique<Pool>(host, settings_.connections, [this, &user] {
    return std::make_unique<Connection>(*host_, settings_, statements_, lineage_, std::string(),
                                        user);
  });
}

void PostgresBackend::stop() noexcept {
  if (pool_ && !stopped_.load()) base::without_memory([this] { flush_outbox(); });
  if (stopped_.exchange(true) || !pool_) return;
  Connection* listener = nullptr;
  {
    const std::lock_guard lock(mutex_);
    listener = listener_.load();
    attached_.store(false);
  }
  // Even if the second one could not be attached for want of memory.
  host_->detach(later_);
  host_->detach(*name_watch_);
  name_watch_->end();
  if (listener != nullptr) {
    host_->detach(*listener);
    static_cast<void>(listener->close());
  }
  const auto say_farewell = [this](Operation& operation) {
    base::farewell(operation, [this] { return describe(); });
  };
  pool_->close([&](const Call& call) { say_farewell(*call.operation); });
  // Where there is no memory for a list, whoever waits sees by itself that the client is closed.
  Flights outbox;
  {
    const std::lock_guard lock(mutex_);
    outbox = outbox_.take();
  }
  for (const Call& call : outbox) say_farewell(*call.operation);
  base::without_memory([&] {
    for (const auto& operation : attempts_.undecided()) say_farewell(*operation);
  });
}

bool PostgresBackend::open(Operation& operation) {
  if (operation.done()) return false;
  if (stopped_.load()) {
    operation.failed({Errc::closed, describe()});
    return false;
  }
  if (!attached_.load()) {
    // First of all: what is put off for want of memory must not need any to be made later.
    const std::lock_guard lock(mutex_);
    if (!stopped_.load() && !attached_.load()) {
      host_->attach(later_);  // may throw: the next call tries again
      host_->attach(*name_watch_);
      attached_.store(true);
    }
  }
  return true;
}

void PostgresBackend::acquire(const std::shared_ptr<Acquisition>& operation) {
  if (!open(*operation)) return;
  const Acquisition::Request& request = operation->request();
  if ((request.mode == Mode::once && !request.memory) ||
      (request.mode == Mode::permit && request.permits == 0)) {
    operation->failed({Errc::unsupported, describe() + ": mode"});
    return;
  }
  ask(operation);
}

void PostgresBackend::ask(const std::shared_ptr<Acquisition>& operation) {
  if (!attempts_.wanted(operation)) return;
  begin(Call::Kind::acquire, operation);
}

void PostgresBackend::cancel(const std::shared_ptr<Acquisition>& operation) {
  if (!open(*operation)) return;
  if (attempts_.may_ask_last(operation->request().attempt) &&
      !base::mutant("postgres.gives_way_to_the_end")) {
    // It was never asked for, to let others come first; and perhaps none of them wants it any more.
    return begin(Call::Kind::acquire, operation);
  }
  if (!attempts_.cancelled(operation)) {
    operation->busy(operation->holder());  // nothing of it is at the server, or under way
    // A notification may have asked for it in between. If that request is lost, a look is due.
    return over(operation->request().attempt);
  }
  begin(Call::Kind::cancel, operation);
}

// Releases the hold that a lost request may have taken: see `Courses::begin_looks()`.
void PostgresBackend::take_back(const std::shared_ptr<Acquisition>& operation) {
  Flights cancel;
  try {
    cancel.emplace_back(Call::made(Call::Kind::cancel, operation, clock_->now()));
  } catch (...) {
    attempts_.look_failed(operation->request().attempt);
    keep({});
    throw;
  }
  resubmit_all(std::move(cancel));
}

/// Its operation is complete, and it has no hold. A look at what a lost request took may be due.
void PostgresBackend::over(const AttemptId& attempt) {
  attempts_.over(attempt);
  if (attempts_.next_look() != never) host_->changed(later_);
}

void PostgresBackend::renew(const std::shared_ptr<Renewal>& operation) {
  if (!open(*operation)) return;
  begin(Call::Kind::renew, operation);
}

void PostgresBackend::release(const std::shared_ptr<Release>& operation) {
  if (!open(*operation)) return;
  if (operation->found() != nullptr) {
    return begin(Call::Kind::force, operation);
  }
  const auto& successor = operation->successor();
  const bool others_first =
      successor && is_lock(operation->hold().mode) && gives_way(operation->hold().name);
  // Before the release is sent, whose answer says when.
  if (others_first) ask_after_others(successor);
  begin(operation->conclusion() ? Call::Kind::conclude : Call::Kind::release, operation);
  // A transaction of its own, right behind: a release is not worth a flush, a grant is.
  if (successor && !others_first && !successor->done()) ask(successor);
}

// What the attempt may hold by another grant stays.
void PostgresBackend::give_back(const Acquisition& operation, std::uint64_t number) {
  if (stopped_.load()) return;
  const Acquisition::Request& request = operation.request();
  const auto release = Release::undo(HoldId{
      .name = request.name, .attempt = request.attempt, .number = number, .mode = request.mode});
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(given_back_, [](const auto& each) { return each.expired(); });
    given_back_.push_back(release);
  }
  Call call = Call::made(Call::Kind::release, release, clock_->now());
  call.grant_only = true;
  call.lease = request.lease;
  submit(std::move(call));
}

void PostgresBackend::inspect(const std::shared_ptr<Inspection>& operation) {
  if (!open(*operation)) return;
  begin(Call::Kind::inspect, operation);
}

void PostgresBackend::recall(const std::shared_ptr<Recollection>& operation) {
  if (!open(*operation)) return;
  begin(Call::Kind::recall, operation);
}

void PostgresBackend::begin(Call::Kind kind, std::shared_ptr<Operation> operation) {
  submit(Call::made(kind, std::move(operation), clock_->now()));
}

void PostgresBackend::submit(Call call) {
  Flights one;
  one.emplace_back(std::move(call));
  submit(one);
}

void PostgresBackend::submit(Flights& one) {
  const std::shared_ptr<Operation> asked = one.front().operation;
  const bool tells = one.front().kind == Call::Kind::wake;
  try {
    send_or_put_off(one);
  } catch (const std::exception&) {
    // Short of memory, or of descriptors. The library asks again for what it has asked for. But of
    // what tells others no answer would come, that has the next one told.
    if (one.empty()) keep({});  // it waits in the outbox, and nobody may know
    if (!tells) throw;
    bell_.lost(static_cast<const Wake&>(*asked).names);
  }
}

void PostgresBackend::send_or_put_off(Flights& one) {
  Call call = one.front();  // it may be answered, and gone, as soon as it is sent
  for (;;) {
    const Pool::Choice chosen = pool_->choose(call);
    Connection* const connection = chosen.connection;
    if (connection == nullptr) break;
    try {
      if (!count(call)) {
        pool_->done(call);
        return one.clear();
      }
    } catch (...) {
      pool_->done(call);  // there is no memory for it
      throw;
    }
    Connection::Sent sent = Connection::Sent::refused;
    try {
      Arguments arguments = prepare(call, connection->pooled());
      one.front().call() = call;
      sent = connection->send(one, std::move(arguments));
    } catch (...) {
      not_sent(call);
      throw;
    }
    switch (sent) {
      case Connection::Sent::sent:
        // After it was sent, so that what never left is not in doubt; by the clock of before.
        if (call.kind == Call::Kind::acquire) call.acquisition().sent(call.asked);
        // Another thread may have begun to tell there since it was chosen; or what it was to follow
        // was answered, whose reader has seen nothing wait.
        if (pool_->may_go_elsewhere(call, chosen) &&
            !base::mutant("postgres.overtaken_by_notify")) {
          held_up();
        }
        return;
      case Connection::Sent::withdrawn: not_sent(call); return;
      case Connection::Sent::refused: not_sent(call); break;  // it is not up any more: the next one
    }
  }
  put_in_outbox(one);
}

void PostgresBackend::not_sent(const Call& call) {
  pool_->done(call);
  if (call.kind == Call::Kind::acquire) attempts_.not_sent(*call.attempt());
}

void PostgresBackend::dismissed(const Call& call) { not_sent(call); }

// Two threads may ask for one attempt, one of them late: behind the release of what the other one
// was granted, or behind a cancel, its request would make an orphaned grant.
bool PostgresBackend::withdrawn(const Call& call) const {
  if (call.kind != Call::Kind::acquire || call.executed) return false;
  return call.operation->done() || attempts_.is_withdrawn(*call.attempt());
}

/// From now on a request of that attempt is under way, until it is answered or `not_sent()`. An
/// attempt has one, whatever it leaves for: its caller, a notification, a late answer, a loss.
/// @return false: it need not leave
bool PostgresBackend::count(const Call& call) {
  if (call.kind != Call::Kind::acquire) return true;
  // What may have been granted already is asked for until an answer counts, whatever else is.
  return call.executed || attempts_.asked(*call.attempt());
}

}  // namespace mortise::postgres
