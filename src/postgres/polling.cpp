// SPDX-License-Identifier: MIT
#include "postgres/polling.hpp"

#include "base/one_by_one.hpp"
#include "postgres/listener.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace mortise::postgres {
namespace {

// A connection that was not used for that long, or twice that long, is closed.
constexpr std::chrono::seconds idle_time{3};

}  // namespace

void Polling::detach_all() noexcept {
  parts_.host.detach(names_);
  names_.end();
}

// Some attempts are taken back after their calls have ended, or may have to be: another copy of a
// request may be granted the lock later.
bool Polling::is_any_pending(Instant in_time) {
  // Only this client notifies the waiters of other clients of a name that it has just freed. If the
  // request has left, the server executes it without this client, however long its NOTIFY takes.
  return remote::is_any_pending(*parts_.exchange, parts_.attempts, parts_.now(), in_time) ||
         parts_.attempts.any_taken_back() || (parts_.bell.keeps_some() && parts_.pool->up()) ||
         parts_.pool->delays_close();
}

void Polling::add_sources(std::vector<Source*>& sources) {
  for (Source* const each : parts_.pool->sources()) sources.push_back(each);
}

Instant Polling::due() const noexcept { return std::min(parts_.exchange->due(), tidy_time_.get()); }

void Polling::ready(short /*events*/, Instant now) {
  base::OneByOne each;
  if (tidy_time_.take(now)) each([this] { tidy(); });
  each([&] { parts_.exchange->tick(now); });
  each.finish();
}

void Polling::tidy_later() {
  if (tidy_time_.set_if_never(parts_.now() + idle_time)) sooner();
}

void Polling::tidy() {
  bool more = parts_.pool->tidy();
  base::OneByOne each;
  each([this] { look_after_stuck(); });
  each([&] { more = parts_.listener->tidy() || more; });
  // While all connections are stuck, no event of a connection drops calls that have ended.
  each([this] { parts_.exchange->send_again(parts_.exchange->waiting().take(*parts_.pool)); });
  if (more) tidy_later();
  each.finish();
}

// A connection that does not answer is kept, since its process may be waiting for a standby. If a
// router in between has lost it, the process is gone: the server knows that.
void Polling::look_after_stuck() {
  std::vector<std::int64_t> processes = parts_.pool->stuck_processes();
  if (processes.empty()) return;
  Flight call =
      Call::made(Call::Kind::census, std::make_shared<Census>(std::move(processes)), parts_.now());
  Connection* const connection = parts_.pool->choose(call).connection;
  if (connection != nullptr) {
    Listener::ask(*connection, std::move(call));
  } else {
    parts_.listener->ask_instead(std::move(call));
  }
}

}  // namespace mortise::postgres
