// SPDX-License-Identifier: MIT
#include "postgres/polling.hpp"

#include "base/one_by_one.hpp"
#include "base/poll_sources.hpp"
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

void Polling::begin() {
  if (has_begun_.load()) return;
  const std::lock_guard lock(mutex_);
  if (is_closed_.load() || has_begun_.load()) return;
  // The watch first: the next request tries again if there is no memory for the alarm.
  parts_.host.attach(names_);
  parts_.host.attach(*this);
  has_begun_.store(true);
}

void Polling::end() noexcept {
  {
    const std::lock_guard lock(mutex_);  // a thread that attaches it has done so, or will not
  }
  // Even if the second one could not be attached for want of memory.
  parts_.host.detach(*this);
  parts_.host.detach(names_);
  names_.end();
}

void Polling::poll_once(Instant until) {
  std::vector<Source*> sources = parts_.pool->sources();
  sources.push_back(this);
  base::poll_sources(sources, parts_.clock, until);
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
