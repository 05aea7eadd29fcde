// SPDX-License-Identifier: MIT
// How a RedisBackend ends: its outbox first, then everybody's operations.
#include "base/farewell.hpp"
#include "base/poll_sources.hpp"
#include "redis/redis_backend.hpp"

namespace mortise::redis {
namespace {

// Of the time that close() may take; what was refused is sent again within half a second.
constexpr std::chrono::milliseconds patience_at_the_end{750};
constexpr std::chrono::milliseconds a_look{5};
// What is asked for later than that before the end is not answered in time.
constexpr std::chrono::milliseconds an_answer{250};

}  // namespace

void RedisBackend::stop() noexcept {
  if (stopped_.load() || (!server_ && !cluster_)) return;
  ends_.store(true);
  // Where there is no memory for that, what is left ends with its lease.
  if (witness() != nullptr) {
    base::without_memory([&] { witness()->lose({Errc::closed, describe()}); });
  }
  base::without_memory([&] { give_back_the_rest(); });
  if (stopped_.exchange(true)) return;
  const Calls checks = exchange_.close();
  {
    const std::lock_guard lock(mutex_);  // whoever opens an inbox has done so, or will not
  }
  host_->detach(alarm_);
  const auto say_farewell = [this](Operation& operation) {
    base::farewell(operation, [this] { return describe(); });
  };
  const auto end = [&](Server& server) {
    for (const Call& call : server.end()) say_farewell(*call.operation);
    for (const Call& call : server.take_kept()) say_farewell(*call.operation);
  };
  for (const Call& call : checks) say_farewell(*call.operation);
  if (server_) end(*server_);
  for (std::size_t i = 0; Server* const server = cluster_ ? cluster_->nth(i) : nullptr; ++i) {
    end(*server);
  }
  // What the last of them sent to one that had ended already.
  for (std::size_t i = 0; Server* const server = cluster_ ? cluster_->nth(i) : nullptr; ++i) {
    for (const Call& call : server->take_kept()) say_farewell(*call.operation);
  }
  // Where there is no memory for a list, whoever waits sees by itself that the client is closed.
  base::without_memory([&] {
    for (const auto& operation : attempts_.undecided()) say_farewell(*operation);
  });
}

// Grants that came when their calls had gone already: the library waits for what callers have left,
// and knows nothing of these.
bool RedisBackend::outbox_pending(Instant until) {
  return attempts_.is_any_pending(clock_->now(), until) || exchange_.is_any_awaited();
}

// Nobody reads any more but whoever closes the client.
void RedisBackend::give_back_the_rest() {
  const Instant until = BootClock::now() + patience_at_the_end;
  // A request that arrives later than that is beyond reach. What it has taken by now is not.
  attempts_.hurry(clock_->now());
  look_at_leftovers(clock_->now());
  while (outbox_pending(clock_->now() + (until - BootClock::now()) - an_answer) &&
         BootClock::now() < until) {
    std::vector<Source*> sources{&alarm_};
    for (Server* const server : servers()) sources.push_back(&server->commands());
    base::poll_sources(sources, *clock_, clock_->now() + a_look);
  }
}

}  // namespace mortise::redis
