// SPDX-License-Identifier: MIT
#include "zookeeper/zookeeper_backend.hpp"

#include "base/farewell.hpp"
#include "base/one_by_one.hpp"
#include "remote/outbox.hpp"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

namespace mortise::zookeeper {
namespace {

using std::chrono::milliseconds;

/// For the servers to confirm that the sessions have ended.
constexpr milliseconds farewell_time{300};
// A sign of life that a follower has not passed on does not count (life.hpp), and ticks only ever
// end sessions later: this is for the rest.
constexpr int margin_permille = 100;
constexpr std::size_t longest_cursor = 1'024;

}  // namespace

ZooKeeperClient::ZooKeeperClient(const Settings& settings, Session::Owner& owner)
    : parts{.settings = settings}, sessions(parts, owner) {
  parts.late = &late;
  parts.seen = &seen;
  parts.tidying = &tidying;
  parts.sessions = &sessions;
  parts.attempts = &attempts;
  parts.renewals = &renewals;
  parts.questions = &questions;
}

void ZooKeeperClient::tick(Instant now) {
  for (const auto& session : sessions) {
    session->tick(now);
    pulses.of(*session).beat(now);
  }
  late.look(now);
  questions.tick(now);
  attempts.tick(now);
  renewals.settle();
}

Instant ZooKeeperClient::due() const {
  Instant due = std::min({parts.next_look, late.due(), questions.due()});
  for (const auto& session : sessions) {
    due = std::min({due, session->next(), pulses.due(*session)});
  }
  return due;
}

ZooKeeperBackend::ZooKeeperBackend(Settings settings)
    : settings_(std::move(settings)), client_(settings_, static_cast<Session::Owner&>(*this)) {}

ZooKeeperBackend::~ZooKeeperBackend() = default;

StoreDescription ZooKeeperBackend::describe() const {
  const std::int64_t negotiated = negotiated_ms_.load();
  return {.name = client_.parts.describe(),
          .capabilities = {
              .leases = Support::yes,
              .effective_lease = negotiated != 0 ? milliseconds(negotiated) : settings_.session,
              .fencing = Support::yes,
              .fair = Support::yes,
              .push_wakeup = Support::yes,
              .one_wake = Support::yes,
              .survives_restart = Support::yes,
              // Yes in an ensemble. A client with one address cannot know whether it is one.
              .survives_failover = settings_.servers.size() > 1 ? Support::yes : Support::unknown,
              .shared_mode = Support::yes,
              .permits = Support::yes,
              .safety_margin = {.permille = margin_permille, .least = least_margin}}};
}

void ZooKeeperBackend::start(Host& host) {
  client_.parts.host = &host;
  client_.parts.clock = host.clock();
}

void ZooKeeperBackend::stop() noexcept {
  Host* const host = client_.parts.host;
  if (stopped_.exchange(true) || host == nullptr) return;
  {
    const std::lock_guard lock(mutex_);  // a thread that was about to add a session has done so
  }
  // No thread adds a session any more.
  for (const auto& session : client_.sessions) host->detach(*session);
  host->detach(alarm_);
  std::vector<std::shared_ptr<Operation>> open;
  std::vector<std::unique_ptr<Session>> sessions;
  {
    const std::lock_guard lock(mutex_);
    // If there is no memory for it, each caller sees by itself that the client is closed.
    base::without_memory([&] {
      for (auto some :
           {client_.attempts.operations(), client_.questions.close(), client_.renewals.close()}) {
        open.insert(open.end(), some.begin(), some.end());
      }
    });
    client_.attempts.clear();
    client_.late.clear();
    for (const auto& session : client_.sessions) session->end();
    client_.parts.completions.clear();
    sessions = client_.sessions.take();
  }
  for (const auto& operation : open) {
    base::farewell(*operation, [this] { return client_.parts.describe(); });
  }
  // Without the mutex: a thread that releases a lock at this moment waits for no server.
  const Instant until = BootClock::now() + farewell_time;
  for (const auto& session : sessions) session->farewell(until);
}

ZooKeeperBackend::CompletionScope::CompletionScope(ZooKeeperBackend& backend)
    : backend_(backend), lock_(backend.mutex_) {}

ZooKeeperBackend::CompletionScope::~CompletionScope() {
  ZooKeeperClient& client = backend_.client_;
  const bool is_open = !backend_.stopped_.load();
  for (const auto& session : client.sessions) {
    // In its own name: the thread that reads replies polls it, not the one that polls the alarm.
    if (session->publish() && is_open) client.parts.host->changed(*session);
  }
  const bool look_again = backend_.alarm_.show(client.due());
  const std::vector<Parts::Completion> completions = std::exchange(client.parts.completions, {});
  lock_.unlock();
  if (look_again && is_open) client.parts.host->changed(backend_.alarm_);
  for (const Parts::Completion& completion : completions) {
    if (!completion.is_locked) {
      completion.run();
      continue;
    }
    const CompletionScope scope(backend_);
    if (!backend_.stopped_.load()) completion.run();
  }
}

void ZooKeeperBackend::Alarm::ready(short /*events*/, Instant now) {
  const CompletionScope scope(backend_);
  if (!backend_.stopped_.load()) backend_.client_.tick(now);
}

bool ZooKeeperBackend::open(const std::shared_ptr<Operation>& operation) {
  if (operation->done()) return false;
  if (stopped_.load()) {
    client_.parts.fail(operation, {Errc::closed, client_.parts.describe()});
    return false;
  }
  if (client_.sessions.empty()) client_.parts.host->attach(alarm_);
  static_cast<void>(client_.sessions.with_room({}));
  return true;
}

void ZooKeeperBackend::acquire(const std::shared_ptr<Acquisition>& operation) {
  const CompletionScope scope(*this);
  if (open(operation)) client_.attempts.acquire(operation);
}

void ZooKeeperBackend::cancel(const std::shared_ptr<Acquisition>& operation) {
  const CompletionScope scope(*this);
  client_.attempts.cancel(operation);
}

void ZooKeeperBackend::renew(const std::shared_ptr<Renewal>& operation) {
  const CompletionScope scope(*this);
  if (open(operation)) client_.renewals.add(operation);
}

void ZooKeeperBackend::release(const std::shared_ptr<Release>& operation) {
  const CompletionScope scope(*this);
  if (!open(operation)) return;
  if (client_.attempts.release(operation)) return;
  if (!operation->conclusion()) {
    client_.parts.then([operation] { operation->answered(Released::was_lost); });
  } else if (!client_.questions.is_asking(*operation)) {
    client_.questions.begin(recognition(client_.parts, operation, false, false));
  }
}

template <class Kind>
void ZooKeeperBackend::ask(const std::shared_ptr<Kind>& operation) {
  const CompletionScope scope(*this);
  if (open(operation)) client_.questions.begin(question(client_.parts, operation));
}

void ZooKeeperBackend::inspect(const std::shared_ptr<Inspection>& operation) { ask(operation); }

void ZooKeeperBackend::recall(const std::shared_ptr<Recollection>& operation) { ask(operation); }

void ZooKeeperBackend::check(const std::shared_ptr<Check>& operation) { ask(operation); }

void ZooKeeperBackend::list(const std::shared_ptr<Listing>& operation) {
  if (operation->cursor().size() <= longest_cursor) return ask(operation);
  operation->failed(client_.parts.failure(
      Errc::misconfigured, "the cursor is invalid; pass the cursor of the previous page"));
}

void ZooKeeperBackend::queue(const std::shared_ptr<QueueLook>& operation) { ask(operation); }

void ZooKeeperBackend::find(const std::shared_ptr<QueueLook>& operation) { ask(operation); }

void ZooKeeperBackend::end(const std::shared_ptr<Release>& operation) { ask(operation); }

void ZooKeeperBackend::session_ready(Session& session, short events, Instant now) {
  const CompletionScope scope(*this);
  if (stopped_.load()) return;
  session.run(events, now);
  // Any answer may have proven what a renewal waits for.
  if (!client_.renewals.empty()) client_.renewals.settle();
}

void ZooKeeperBackend::session_up(Session& session) {
  negotiated_ms_.store(session.timeout().count());
  client_.pulses.of(session).connected();
  client_.attempts.connected(session);
  client_.late.connected(session);
  if (&session == &client_.sessions.front()) client_.questions.connected();
}

void ZooKeeperBackend::session_down(Session& session) {
  client_.attempts.disconnected(session);
  client_.renewals.settle();
  if (&session == &client_.sessions.front()) client_.questions.lost(session.trouble(), false);
}

void ZooKeeperBackend::session_over(Session& session, const Failure& why, bool at_server) {
  const bool final = remote::is_final(why);
  Parts& parts = client_.parts;
  base::OneByOne each_of;  // without memory each part has to know it as well
  each_of([&] { client_.attempts.ended(session, why, at_server, final); });
  // Everything that was asked for in the session has ended with it.
  client_.late.end(session);
  each_of([&] { client_.renewals.settle(); });
  if (&session == &client_.sessions.front()) {
    each_of([&] { client_.questions.lost(final ? why : session.trouble(), final); });
  }
  // Behind the losses.
  const auto end_left = [&session, &parts] { session.end_left(parts.now()); };
  if (!at_server) each_of([&] { parts.then_locked(end_left); });
  each_of.finish();
}

}  // namespace mortise::zookeeper
