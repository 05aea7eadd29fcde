// SPDX-License-Identifier: MIT
// What the library asks for, on its way to the server. Replies are in redis_replies.cpp.
#include "redis/redis_backend.hpp"

#include "base/mutant.hpp"
#include "base/scratch.hpp"
#include "core/figures.hpp"
#include "redis/listing.hpp"
#include "redis/renewal_parts.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace mortise::redis {
namespace {

// The scripts of locks have the places of their kinds. A check runs inspect.lua. `slots` is no
// script. Those that keys have for themselves come behind.
std::uint8_t script_of(const Call& call) {
  using Kind = Call::Kind;
  constexpr std::array of_keys{Kind::acquire, Kind::cancel, Kind::release, Kind::force,
                               Kind::queue};
  static_assert(static_cast<unsigned>(Kind::slots) + of_keys.size() <= 16, "see LoadedScripts");
  if (call.mode() == Mode::once) {
    const auto* const place = std::find(of_keys.begin(), of_keys.end(), call.kind);
    if (place == of_keys.end()) return static_cast<std::uint8_t>(call.kind);
    return static_cast<std::uint8_t>(static_cast<unsigned>(Kind::slots) +
                                     static_cast<unsigned>(place - of_keys.begin()));
  }
  return static_cast<std::uint8_t>(call.kind == Kind::check ? Kind::inspect : call.kind);
}

}  // namespace

RedisBackend::RedisBackend(Settings settings)
    : settings_(std::move(settings)),
      tls_(settings_.tls ? std::make_unique<remote::Tls>(*settings_.tls, "redis") : nullptr),
      requests_(settings_),
      turns_([this](const Acquisition& operation) {
        return !attempts_.is_withdrawn(operation.request().attempt);
      }) {}

RedisBackend::~RedisBackend() = default;

void RedisBackend::start(Host& host) {
  host_ = &host;
  clock_ = host.clock();
  Server::User& user = *this;
  if (!settings_.is_cluster()) {
    server_ = std::make_unique<Server>(host, settings_, tls_.get(), shared_, user);
    if (settings_.queue_mode != QueueMode::redisson) return;
    redisson_ = std::make_unique<RedissonSide>(
        RedissonSide::Parts{.host = host,
                            .server = *server_,
                            .requests = requests_,
                            .attempts = attempts_,
                            .ask = [this](const auto& operation) { ask(operation); },
                            .inspect = [this](const auto& operation) { inspect(operation); }});
    return;
  }
  cluster_ = std::make_unique<Cluster>(settings_, [this](const Settings& settings) {
    Server::User& its_user = *this;
    return std::make_unique<Server>(*host_, settings, tls_.get(), shared_, its_user);
  });
}

bool RedisBackend::open(Operation& operation) {
  if (operation.done()) return false;
  if (stopped_.load()) {
    operation.failed({Errc::closed, describe()});
    return false;
  }
  if (!attached_.load()) {
    const std::lock_guard lock(mutex_);
    if (!stopped_.load() && !attached_.load()) {
      // May throw, each of them: the next call tries again.
      if (cluster_) host_->attach(alarm_);
      server_of(std::string_view()).attach();
      attached_.store(true);
      if (cluster_) static_cast<void>(cluster_->want_look(clock_->now()));
    }
  }
  return true;
}

void RedisBackend::attach(Server& server) {
  if (server.is_attached()) return;
  const std::lock_guard lock(mutex_);
  if (!stopped_.load()) server.attach();
}

// Wanted first: see Server::detach().
void RedisBackend::want(Server& server, bool now) {
  server.commands().want(now);
  if (cluster_) attach(server);
}

// Made with the first attempt, which names it.
void RedisBackend::open_inbox(Server& server, const AttemptId& of_client) {
  if (server.has_inbox()) return;
  const std::lock_guard lock(mutex_);
  if (server.has_inbox() || stopped_.load()) return;
  host_->attach(alarm_);  // may throw, as the next: the next call tries again
  server.open_inbox(requests_.inbox(of_client));
}

void RedisBackend::acquire(const std::shared_ptr<Acquisition>& operation) {
  if (!open(*operation)) return;
  const Acquisition::Request& request = operation->request();
  if (request.mode == Mode::shared && redisson_) {
    return operation->failed(
        {Errc::unsupported,
         describe() + ": interop=redisson has no shared locks; use an exclusive lock"});
  }
  if (Failure bad = requests_.check_name(request.name); bad && request.mode == Mode::exclusive) {
    return operation->failed(std::move(bad));
  }
  if (!cluster_) open_inbox(*server_, request.attempt);
  const bool alone = cluster_ || redisson_ || !server_->listens() || !turns_.any_places();
  if (alone) return ask(operation);
  renew_places(operation);
}

void RedisBackend::renew_places(const std::shared_ptr<Acquisition>& operation) {
  const Instant before = turns_.due();
  remote::AskTurns::Turn turn = turns_.take_turn(operation, clock_->now());
  if (turn.is_left_out) {
    if (turns_.due() < before) host_->changed(alarm_);
    return;
  }
  if (turn.together.empty()) return ask(operation);
  submit(Call::ask(std::make_shared<Places>(std::move(turn.together))));
}

void RedisBackend::ask(const std::shared_ptr<Acquisition>& operation) {
  submit(Call::acquire(operation));
}

void RedisBackend::cancel(const std::shared_ptr<Acquisition>& operation) {
  if (!open(*operation)) return;
  if (!attempts_.cancelled(operation)) {
    operation->busy(operation->holder());  // the server has never heard of it
    return;
  }
  submit(Call::cancel(operation));
}

void RedisBackend::renew(const std::shared_ptr<Renewal>& operation) {
  if (!open(*operation)) return;
  if (!cluster_ || operation->items().size() == 1) return submit(Call::renew(operation));
  for (auto& part : parts_of(operation)) submit(Call::renew(std::move(part)));
}

void RedisBackend::release(const std::shared_ptr<Release>& operation) {
  if (!open(*operation)) return;
  if (operation->found() != nullptr) return submit(Call::force(operation));
  if (base::mutant("redis.forget_a_hold_before_its_release")) {
    const std::lock_guard lock(shared_.line);
    attempts_.released(operation->hold().attempt, operation->hold().number);
  }
  // Who begins to listen for it while the release is on its way is a waiter of Redisson's to that.
  if (redisson_) redisson_->leaves(operation->hold());
  submit(Call::release(operation));
}

// What the attempt may hold by another grant stays.
void RedisBackend::give_back(const std::shared_ptr<Release>& operation,
                             std::chrono::nanoseconds lease) {
  if (!open(*operation)) return;
  exchange_.await(operation);
  Call call = Call::release(operation, clock_->now());
  call.ours = true;
  call.lease = lease;
  submit(std::move(call));
}

void RedisBackend::inspect(const std::shared_ptr<Inspection>& operation) {
  if (!open(*operation)) return;
  submit(Call::inspect(operation));
}

// A repeated request must not forget a later record. So it first looks, and then forgets the record
// that it found.
void RedisBackend::recall(const std::shared_ptr<Recollection>& operation) {
  if (!open(*operation)) return;
  submit(Call::recall(operation, nullptr, clock_->now()));
}

void RedisBackend::check(const std::shared_ptr<Check>& operation) {
  if (!open(*operation)) return;
  submit(Call::check(operation));
}

void RedisBackend::submit(Call call) {
  Server& server = server_of(call);
  Connection& commands = server.commands();
  if (call.since == Instant{}) call.since = call.asked;
  if (cluster_ && call.kind != Call::Kind::slots) server.use(clock_->now());
  if (may_send(server) || (call.kind == Call::Kind::slots && commands.up())) {
    const bool is_full = server.keeps_any() || !commands.has_room();
    const bool waits = is_full && call.kind != Call::Kind::slots && !call.leftover;
    if (waits) return wait_for_room(server, std::move(call));
    if (leaves(server, call)) return;
  }
  // Each of them is asked for by the next connection anyway.
  if (call.kind == Call::Kind::ask) return want(server);
  if (call.since == Instant{}) call.since = clock_->now();
  if (call.kind == Call::Kind::acquire) attempts_.wanted(call.shared_acquisition());
  Calls alone;
  alone.push_back(std::move(call));
  put_in_outbox(std::move(alone));
}

bool RedisBackend::leaves(Server& server, Call& call) {
  Connection& commands = server.commands();
  call.generation = commands.generation();
  call.script = script_of(call);
  call.whole = call.whole || !commands.loaded().has(call.script, call.generation);
  Operation& operation = *call.operation;
  auto sent = send(server, call);
  // Its successor was taken back after that was written: it goes alone.
  while (sent == Connection::Sent::withdrawn && call.kind == Call::Kind::release) {
    sent = send(server, call);
  }
  if (sent == Connection::Sent::sent) note_sent(call, operation);
  return sent != Connection::Sent::refused;
}

// The time of a call begins when it leaves. If thousands were under way, the last ones would count
// as lost although the server answers steadily.
void RedisBackend::wait_for_room(Server& server, Call call) {
  if (call.kind == Call::Kind::acquire) attempts_.wanted(call.shared_acquisition());
  Calls alone;
  alone.push_back(std::move(call));
  server.keep(std::move(alone));
  let_leave(server);  // there may be room by now
}

void RedisBackend::let_leave(Server& server) {
  const Instant now = clock_->now();
  const auto send_one = [&](Calls& alone) {
    Call& call = alone.front();
    if (is_over(call, now)) return leave(call);
    call.asked = {};
    if (!leaves(server, call)) put_in_outbox(std::move(alone));
  };
  bool failed = false;
  while (!failed && server.keeps_any() && may_send(server) && server.commands().has_room()) {
    failed = remote::each_or_keep(server.take_kept(1), send_one,
                                  [&](Calls alone) { server.keep(std::move(alone)); });
  }
  if (failed) break_commands();
}

Connection::Sent RedisBackend::send(Server& server, Call& call) {
  // First, by itself: it notes in the call what was written. Compilers differ in which argument of
  // a call they make first, and the connection would be given a copy from before that.
  base::Scratch<struct RequestBytes> scratch;
  std::string& bytes = scratch.text();
  write(server, bytes, call);
  return server.commands().send(call, bytes);
}

bool RedisBackend::admits(const Call& call) {
  const bool admitted =
      call.kind == Call::Kind::acquire
          ? attempts_.asked(call.shared_acquisition(), call.generation, call.once)
          : !call.goes_on || attempts_.asked(call.releasing().successor(), call.generation);
  return admitted || base::mutant("redis.send_what_is_withdrawn");
}

bool RedisBackend::is_withdrawn(const Acquisition& operation) const {
  return operation.done() || attempts_.is_withdrawn(operation.request().attempt);
}

// After it was sent, so that what never left is not in doubt; by the clock of before.
void RedisBackend::note_sent(const Call& call, Operation& operation) {
  if (call.kind == Call::Kind::acquire) {
    static_cast<Acquisition&>(operation).sent(call.asked);
  } else if (call.kind == Call::Kind::release && call.goes_on) {
    static_cast<Release&>(operation).successor()->sent(call.asked);
  }
}

void RedisBackend::write(const Server& server, std::string& bytes, Call& call) {
  if (call.asks_first) Requests::asking(bytes);
  Passage passage{.arrives = call.asks_first, .whole = call.whole};
  switch (call.kind) {
    case Call::Kind::acquire: {
      const Acquisition::Request& request = call.acquisition().request();
      const bool wait = request.wait && (cluster_ || server.listens());
      set_void_moment(server, call, request);
      passage.void_after = call.void_after;
      if (request.mode == Mode::once) {
        requests_.begin(bytes, passage, request, wait, attempts_.conclusion_of(request.attempt));
        break;
      }
      requests_.acquire(bytes, passage, request, wait, redisson_ && redisson_->waits(request.name));
      break;
    }
    case Call::Kind::cancel: requests_.cancel(bytes, passage, call.acquisition().request()); break;
    case Call::Kind::release: {
      const Release& release = call.releasing();
      if (release.hold().mode == Mode::once) {
        passage.undoes = call.ours;
        requests_.conclude(bytes, passage, release.hold(), release.conclusion().get());
        break;
      }
      const std::shared_ptr<Acquisition>& next = release.successor();
      // A release that is sent again comes behind the cancel of its successor, which nobody would
      // take out of the queue once more.
      if (next) attempts_.wanted(next);
      call.goes_on = next && !is_withdrawn(*next);
      if (call.goes_on) set_void_moment(server, call, next->request());
      passage.void_after = call.void_after;
      // Its own short hold is over before it has stopped to listen.
      passage.heard =
          redisson(release.hold().mode) && redisson_->is_still_counted(release.hold().name);
      requests_.release(bytes, passage, release.hold(), call.goes_on ? &next->request() : nullptr,
                        call.goes_on && next->request().wait && (cluster_ || server.listens()));
      break;
    }
    case Call::Kind::renew: requests_.renew(bytes, passage, call.renewal().items()); break;
    case Call::Kind::inspect: requests_.inspect(bytes, passage, call.inspection()->name()); break;
    case Call::Kind::force:
      requests_.force_release(bytes, passage, *call.releasing().found());
      break;
    case Call::Kind::recall:
      requests_.recall(bytes, passage, call.recollection()->key(), call.found.get());
      break;
    case Call::Kind::check: requests_.check(bytes, passage); break;
    case Call::Kind::list: {
      const std::string& cursor = call.listing().cursor();
      requests_.list(bytes, passage, call.listing(),
                     cluster_ ? ClusterCursor::parse(cursor).at(server.address().text()) : cursor);
      break;
    }
    case Call::Kind::queue: requests_.queue(bytes, passage, call.queue_look()); break;
    case Call::Kind::ask: requests_.ask(bytes, passage, call.places().waiters()); break;
    case Call::Kind::slots: Requests::slots(bytes); break;
  }
}

// The server ignores it after the time that a command may take.
void RedisBackend::set_void_moment(const Server& server, Call& call,
                                   const Acquisition::Request& request) {
  call.void_after = server.time().at(clock_->now()) +
                    std::chrono::duration_cast<ServerTime>(core::command_timeout(request.lease));
}

}  // namespace mortise::redis
