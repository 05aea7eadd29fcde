// SPDX-License-Identifier: MIT
// What the library asks for, on its way to the server. Results are in postgres_replies.cpp, what is
// asked later or once more in postgres_repeats.cpp.
#include "postgres/postgres_backend.hpp"

#include "base/farewell.hpp"
#include "base/mutant.hpp"
#include "core/figures.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace mortise::postgres {

std::chrono::nanoseconds patience_for(std::chrono::nanoseconds lease) noexcept {
  return std::min<std::chrono::nanoseconds>(usual_patience, 2 * core::command_timeout(lease));
}

PostgresBackend::PostgresBackend(Settings settings)
    : settings_(std::move(settings)),
      statements_(settings_.schema, settings_.fair),
      where_("postgresql " + settings_.where()),
      attempts_(settings_.fair),
      later_([this](Flights call) { resubmit_all(std::move(call)); }, [this] { tidy(); }) {
  if (settings_.pooled) hearing_ = *settings_.pooled ? Hearing::pooled : Hearing::possible;
}

PostgresBackend::~PostgresBackend() = default;

Capabilities PostgresBackend::capabilities() const {
  const Support fair = settings_.fair ? Support::yes : Support::no;
  const Hearing hearing = hearing_.load();
  return {.leases = Support::yes,
          .fencing = Support::yes,
          .fair = fair,
          .push_wakeup = hearing == Hearing::unknown  ? Support::unknown
                         : hearing == Hearing::pooled ? Support::no
                                                      : Support::yes,
          .one_wake = fair,
          .survives_restart = Support::yes,
          // With synchronous replication; the server does not tell what its standbys are for.
          .survives_failover = Support::unknown,
          .once = Support::yes};
}

std::string PostgresBackend::describe() const { return where_; }

void PostgresBackend::start(Host& host) {
  host_ = &host;
  clock_ = host.clock();
  Connection::User& user = *this;
  pool_ = std::make_unique<Pool>(host, settings_.connections, [this, &user] {
    return std::make_unique<Connection>(*host_, settings_, statements_, lineage_, std::string(),
                                        user);
  });
}

void PostgresBackend::stop() noexcept {
  if (pool_ && !stopped_.load()) base::without_memory([this] { flush_outbox(); });
  if (stopped_.exchange(true) || !pool_) return;
  Connection* listener = nullptr;
  bool later_attached = false;
  {
    const std::lock_guard lock(mutex_);
    listener = listener_.load();
    later_attached = attached_.exchange(false);
  }
  if (later_attached) host_->detach(later_);
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
      attached_.store(true);
    }
  }
  return true;
}

void PostgresBackend::acquire(const std::shared_ptr<Acquisition>& operation) {
  if (!open(*operation)) return;
  const Acquisition::Request& request = operation->request();
  if (request.mode != Mode::exclusive && (request.mode != Mode::once || !request.memory)) {
    operation->failed({Errc::unsupported, describe() + ": mode"});
    return;
  }
  ask(operation);
}

void PostgresBackend::ask(const std::shared_ptr<Acquisition>& operation) {
  if (!attempts_.wanted(operation)) return;
  begin(Call::Kind::acquire, operation, patience_for(operation->request().lease));
}

void PostgresBackend::cancel(const std::shared_ptr<Acquisition>& operation) {
  if (!open(*operation)) return;
  if (attempts_.may_ask_last(operation->request().attempt) &&
      !base::mutant("postgres.gives_way_to_the_end")) {
    // It was never asked for, to let others come first; and perhaps none of them wants it any more.
    return begin(Call::Kind::acquire, operation, patience_for(operation->request().lease));
  }
  if (!attempts_.cancelled(operation)) {
    operation->busy(operation->holder());  // nothing of it is at the server, or under way
    return;
  }
  submit(cancel_of(operation));
}

Call PostgresBackend::cancel_of(std::shared_ptr<Acquisition> operation) const {
  const Instant now = clock_->now();
  const std::chrono::nanoseconds patience = patience_for(operation->request().lease);
  return {.kind = Call::Kind::cancel,
          .operation = std::move(operation),
          .asked = now,
          .since = now,
          .patience = patience};
}

/// It has failed for its caller, and nobody else repeats what takes it back. Where there is no
/// memory for that it has not failed yet.
void PostgresBackend::fail_and_take_back(const std::shared_ptr<Acquisition>& operation,
                                         const Failure& why) {
  Flights cancel;
  cancel.emplace_back(cancel_of(operation));
  operation->failed(why);
  if (attempts_.cancelled(operation)) resubmit_all(std::move(cancel));
}

void PostgresBackend::renew(const std::shared_ptr<Renewal>& operation) {
  if (!open(*operation)) return;
  core::Nanos shortest = core::longest_lease;
  for (const Renewal::Item& item : operation->items()) shortest = std::min(shortest, item.lease);
  begin(Call::Kind::renew, operation, patience_for(shortest));
}

void PostgresBackend::release(const std::shared_ptr<Release>& operation) {
  if (!open(*operation)) return;
  const auto& successor = operation->successor();
  const bool others_first = successor && gives_way(operation->hold().name);
  // Before the release is sent, whose answer says when.
  if (others_first) ask_after_others(successor);
  begin(operation->conclusion() ? Call::Kind::conclude : Call::Kind::release, operation,
        usual_patience);
  // A transaction of its own, right behind: a release is not worth a flush, a grant is.
  if (successor && !others_first && !successor->done()) ask(successor);
}

// What the attempt may hold by another grant stays.
void PostgresBackend::give_back(const Acquisition& operation, std::uint64_t number) {
  if (stopped_.load()) return;
  const Acquisition::Request& request = operation.request();
  const Instant now = clock_->now();
  const auto release = std::make_shared<Release>(HoldId{
      .name = request.name, .attempt = request.attempt, .number = number, .mode = request.mode});
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(given_back_, [](const auto& each) { return each.expired(); });
    given_back_.push_back(release);
  }
  submit({.kind = Call::Kind::release,
          .operation = release,
          .asked = now,
          .since = now,
          .patience = usual_patience,
          .grant_only = true,
          .lease = request.lease});
}

void PostgresBackend::inspect(const std::shared_ptr<Inspection>& operation) {
  if (!open(*operation)) return;
  begin(Call::Kind::inspect, operation, usual_patience);
}

void PostgresBackend::recall(const std::shared_ptr<Recollection>& operation) {
  if (!open(*operation)) return;
  begin(Call::Kind::recall, operation, usual_patience);
}

void PostgresBackend::check(const std::shared_ptr<Check>& operation) {
  if (!open(*operation)) return;
  begin(Call::Kind::check, operation, usual_patience);
}

void PostgresBackend::begin(Call::Kind kind, std::shared_ptr<Operation> operation,
                            std::chrono::nanoseconds patience) {
  const Instant now = clock_->now();
  submit({.kind = kind,
          .operation = std::move(operation),
          .asked = now,
          .since = now,
          .patience = patience});
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
      if (chosen.behind) overtakes(call);
      count(call);
    } catch (...) {
      pool_->done(call);  // there is no memory for it
      throw;
    }
    Connection::Sent sent = Connection::Sent::refused;
    try {
      Arguments arguments = prepare(call, connection->pooled());
      one.front().call() = call;
      sent = connection->send(one, std::move(arguments), chosen.life);
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

/// @param apart the plain ways will not do
Call::Text PostgresBackend::text_of(const Acquisition& wanted, bool apart) const {
  if (apart || wanted.progress() != Acquisition::Progress::unsent) return Call::Text::ask;
  // If the first of one that waits fails, something has to be written anyway.
  if (wanted.request().wait) return Call::Text::take;
  return known_.has(wanted.request().name) ? Call::Text::peek : Call::Text::look;
}

// What its copies before it were sent by has broken, and they are not told of as unanswered yet: a
// thread stands still in between. The server may execute them after this one.
void PostgresBackend::overtakes(const Call& call) {
  switch (call.kind) {
    case Call::Kind::acquire:
    case Call::Kind::cancel:
    case Call::Kind::release:
    case Call::Kind::conclude: attempts_.overtakes(*call.attempt(), clock_->now()); return;
    default: return;
  }
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
  return call.operation->done() || attempts_.is_over(call.acquisition().request().attempt);
}

/// From now on a request of that attempt is on its way, until it is answered or `not_sent()`.
void PostgresBackend::count(Call& call) {
  if (call.kind == Call::Kind::acquire) call.copies = attempts_.sent(*call.attempt());
}

/// Chooses the statement of what is counted. @return its arguments
Arguments PostgresBackend::prepare(Call& call, bool pooled) {
  switch (call.kind) {
    case Call::Kind::acquire: {
      const Acquisition::Request& request = call.acquisition().request();
      if (request.mode == Mode::once) {
        call.text = Call::Text::ask_key;
        return statements_.ask_key(request, told(request), call.copies);
      }
      // It was executed, and its sender may still stand between sending it and saying so.
      call.text = text_of(call.acquisition(), pooled || call.copies.older || call.executed);
      return statements_.acquire(request, told(request), call.copies, pooled);
    }
    case Call::Kind::cancel: {
      const Acquisition::Request& request = call.acquisition().request();
      call.text = request.mode == Mode::once ? Call::Text::cancel_key : Call::Text::cancel;
      call.copies = attempts_.copies(request.attempt);
      return Statements::cancel(request, call.copies);
    }
    case Call::Kind::release:
    case Call::Kind::conclude: return prepare_release(call, pooled);
    case Call::Kind::renew: {
      const std::vector<Renewal::Item>& items = call.renewal().items();
      const bool keys = Statements::any_key(items);
      call.text = keys ? Call::Text::renew_all : Call::Text::renew;
      return keys ? Statements::renew_all(items) : Statements::renew(items);
    }
    case Call::Kind::recall: {
      const std::string& key = call.recollection().key();
      const bool forgets = call.forgets != 0;
      call.text = forgets ? Call::Text::forget_key : Call::Text::look_key;
      if (forgets) ++call.forgotten;
      return forgets ? Statements::forget(key, call.forgets) : Statements::inspect(key);
    }
    case Call::Kind::inspect: break;
    case Call::Kind::force:
      if (!call.found) break;
      call.text = Call::Text::force_release;
      return Statements::force_release(call.inspection().name(), call.found->token);
    case Call::Kind::wake: {
      std::vector<std::string> names;
      std::vector<std::string> keys;
      for (const Freed& each : static_cast<const Wake&>(*call.operation).names) {
        (each.mode == Mode::once ? keys : names).push_back(each.name);
      }
      call.text = keys.empty() ? Call::Text::wake : Call::Text::wake_all;
      return keys.empty() ? Statements::wake(names) : Statements::wake_all(names, keys);
    }
    case Call::Kind::census:
      call.text = Call::Text::census;
      return Statements::census(static_cast<const Census&>(*call.operation).processes);
    case Call::Kind::check: break;
  }
  call.text = Call::Text::inspect;
  return Statements::inspect(call.kind == Call::Kind::check ? remote::probed_name
                                                            : call.inspection().name());
}

Arguments PostgresBackend::prepare_release(Call& call, bool pooled) {
  const HoldId& hold = call.release().hold();
  call.copies = attempts_.copies(hold.attempt);
  if (call.kind == Call::Kind::conclude) {
    call.text = Call::Text::conclude_key;
    return Statements::conclude(hold, *call.release().conclusion(), call.copies);
  }
  const bool apart = pooled || call.copies.older;
  call.text = hold.mode == Mode::once ? Call::Text::release_key
              : apart                 ? Call::Text::release_apart
                                      : Call::Text::release;
  return Statements::release(hold, call.copies, call.grant_only);
}

// Whether a release is to tell this attempt.
bool PostgresBackend::told(const Acquisition::Request& request) const {
  if (!request.wait || attempts_.asks_last(request.attempt)) return false;
  const bool may_hear = hearing_.load() == Hearing::possible && !deaf();
  // A waiter in a queue must hear when its turn comes; where no waiter can, all look by time.
  return settings_.fair ? listening_.load() || !may_hear : may_hear;
}

}  // namespace mortise::postgres
