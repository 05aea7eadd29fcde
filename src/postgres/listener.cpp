// SPDX-License-Identifier: MIT
#include "postgres/listener.hpp"

#include "base/mutant.hpp"
#include "postgres/polling.hpp"

#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

namespace mortise::postgres {
namespace {

// A listener that was refused may be admitted later: an administrator has locked it out for a
// while.
constexpr std::chrono::seconds deaf_time{5};

}  // namespace

Listener::Hearing Listener::hearing_by(const Settings& settings) noexcept {
  if (!settings.pooled) return Hearing::unknown;
  return *settings.pooled ? Hearing::pooled : Hearing::possible;
}

bool Listener::may_hear() const noexcept {
  return hearing_.load() == Hearing::possible && !is_deaf();
}

bool Listener::is_deaf() const noexcept {
  return parts_.now() < Instant(Instant::duration(deaf_until_.load()));
}

void Listener::open(const AttemptId& of_client) {
  if (!may_hear()) return;
  was_wanted_.store(true);
  if (connection_.load() == nullptr) {
    const std::lock_guard lock(mutex_);
    if (owner_ || parts_.polling->is_closed()) return;
    owner_ = make_(parts_.statements.listen(of_client));
    connection_.store(owner_.get());
    parts_.host.attach(*owner_);
  }
  if (!listening_.load()) connection_.load()->want();
}

void Listener::came_up() {
  listening_.store(true);
  parts_.polling->tidy_later();
  // No notification came while it did not listen.
  for (const auto& operation : parts_.attempts.undecided()) {
    const Acquisition::Request& request = operation->request();
    if (request.wait && parts_.attempts.waiter(request.attempt, &Waiter::tell))
      parts_.ask(operation);
  }
}

void Listener::lost(const ServerError& why) {
  listening_.store(false);
  if (why.kind != ServerError::Kind::final) return connection_.load()->want();
  // In the meantime waiters look by time.
  const Instant until = base::mutant("postgres.deaf_for_ever") ? never : parts_.now() + deaf_time;
  deaf_until_.store(until.time_since_epoch().count());
}

void Listener::request(Connection::Request request) {
  Connection* const connection = connection_.load();
  if (connection != nullptr && connection->up()) connection->request(request);
}

// If a router on the way has forgotten the listener, it looks like a listener without
// notifications. So as long as an attempt waits, the listener is asked for an answer now and then.
// Without an answer it is made again.
bool Listener::tidy() {
  Connection* const connection = connection_.load();
  if (connection == nullptr || !listening_.load()) return false;
  if (!was_wanted_.exchange(false) && !parts_.attempts.anybody_waits()) {
    listening_.store(false);
    connection->request(Connection::Request::retire);
    return false;
  }
  ask(*connection, Call::made(Call::Kind::census,
                              std::make_shared<Census>(std::vector<std::int64_t>{}), parts_.now()));
  return true;
}

void Listener::close() noexcept {
  Connection* connection = nullptr;
  {
    const std::lock_guard lock(mutex_);
    connection = connection_.load();
  }
  if (connection == nullptr) return;
  parts_.host.detach(*connection);
  static_cast<void>(connection->close());
}

void Listener::ask(Connection& connection, Flight census) {
  census.text = Call::Text::census;
  Arguments arguments = Statements::census(static_cast<const Census&>(*census.operation).processes);
  Flights one;
  one.push_back(std::move(census));
  static_cast<void>(connection.send(one, std::move(arguments)));
}

void Listener::ask_instead(Flight census) {
  if (listening_.load()) ask(*connection_.load(), std::move(census));
  AttemptId of_client;
  {
    const std::lock_guard lock(mutex_);
    of_client = of_client_;
  }
  open(of_client);
}

void Listener::note_client(const AttemptId& attempt) {
  const std::lock_guard lock(mutex_);
  of_client_ = attempt;
}

}  // namespace mortise::postgres
