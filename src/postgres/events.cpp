// SPDX-License-Identifier: MIT
#include "postgres/events.hpp"

#include "base/mutant.hpp"
#include "base/one_by_one.hpp"
#include "postgres/listener.hpp"
#include "postgres/polling.hpp"

#include <cstddef>
#include <string_view>
#include <utility>

namespace mortise::postgres {
namespace {

// The beginning of a notification about a key: see tell_run() of once_conclude.sql.
constexpr std::string_view of_a_key = "key ";
// The same of a semaphore: see tell() of share.sql.
constexpr std::string_view of_a_permit = "permit ";

}  // namespace

void Events::connected(Connection& connection) {
  parts_.listener->note(connection);
  if (!parts_.pool->has(connection)) return parts_.listener->came_up();
  parts_.pool->why_down().clear();
  base::OneByOne each;
  each([&] { connection.watch(parts_.polling->names()); });
  each([this] { parts_.polling->tidy_later(); });
  each([this] { writer_.relieve(); });
  each([this] { parts_.exchange->connected(*parts_.pool); });
  each([this] { parts_.ring_for_the_rest(); });
  each.finish();
}

void Events::answered(Flight& call, const Result& result) {
  parts_.pool->done(call);
  answers_.answered(call, result);
}

void Events::replaced() {
  parts_.pool->request(Connection::Request::if_outdated);
  parts_.listener->request(Connection::Request::if_outdated);
}

void Events::name_moved() {
  parts_.pool->request(Connection::Request::forsake);
  parts_.listener->request(Connection::Request::forsake);
}

void Events::notified(const std::string& payload) {
  std::string_view words(payload);
  const bool key = words.starts_with(of_a_key);
  if (key) words.remove_prefix(of_a_key.size());
  const bool permit = words.starts_with(of_a_permit);
  if (permit) words.remove_prefix(of_a_permit.size());
  const std::size_t space = words.find(' ');
  const std::string_view first =
      space == std::string_view::npos ? std::string_view() : words.substr(space + 1);
  const std::string name = bytes_of(words.substr(0, space));
  if (base::mutant("postgres.ignore_notifications")) return;
  for (const auto& operation : parts_.attempts.waiting(name, bytes_of(first))) {
    const Mode mode = operation->request().mode;
    if ((mode == Mode::once) != key || (mode == Mode::permit) != permit) continue;
    if (parts_.attempts.waiter(operation->request().attempt, &Waiter::tell)) parts_.ask(operation);
  }
}

void Events::stuck(const ServerError& why, Flights unanswered, Flights unsent) {
  if (parts_.polling->is_closed()) return;
  for (Flight& call : unsent) writer_.not_sent(call);
  unsent.clear();  // the bell has their names again
  for (Flight& call : unanswered) {
    // A repeated notification would take as long. This one is answered late, or lost with the
    // connection.
    if (call.kind == Call::Kind::wake) parts_.pool->done(call);
    if (const AttemptId* const attempt = call.of_client()) parts_.listener->note_client(*attempt);
  }
  unanswered.remove_if([](const Call& call) { return call.kind == Call::Kind::wake; });
  base::OneByOne each;
  each([&] { lost(why, true, std::move(unanswered)); });
  each([this] { parts_.polling->tidy_later(); });
  each.finish();
}

void Events::answered_late(const Call& call, const Result* result) {
  if (!parts_.polling->is_closed()) answers_.answered_late(call, result);
}

void Events::dropped(Connection& connection, const ServerError& why, bool was_up,
                     Flights unanswered) {
  if (parts_.polling->is_closed()) return;
  // Stuck connections may go on, and are watched as before.
  if (!parts_.pool->stands()) parts_.polling->names().end();
  if (parts_.pool->has(connection)) return lost(why, was_up, std::move(unanswered));
  parts_.listener->lost(why);
  // The other connections may have broken for the same reason, and no thread may be looking at
  // them.
  if (was_up) parts_.pool->request(Connection::Request::look);
}

void Events::lost(const ServerError& why, bool was_up, Flights unanswered) {
  Pool& pool = *parts_.pool;
  const bool others = pool.up();
  const bool final = why.kind == ServerError::Kind::final && !others;
  base::OneByOne each;
  if (!others) pool.why_down().note(why.failure);
  // A connection that was up is up again at once, as a rule.
  const bool once_more = others || (was_up && !pool.all_stuck());
  each([&] { parts_.exchange->lost(pool, why.failure, final, once_more, std::move(unanswered)); });
  each([this] { parts_.ring_for_the_rest(); });
  each.finish();
}

}  // namespace mortise::postgres
