// SPDX-License-Identifier: MIT
#include "redis/store/call_writer.hpp"

#include "base/farewell.hpp"
#include "base/scratch.hpp"
#include "core/figures.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
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

// After it was sent, so that what never left is not in doubt; by the clock of before.
void note_sent(const Call& call, Operation& operation) {
  if (call.kind == Call::Kind::acquire) {
    static_cast<Acquisition&>(operation).sent(call.asked);
  } else if (call.kind == Call::Kind::release && call.written.goes_on) {
    static_cast<Release&>(operation).successor()->sent(call.asked);
  }
}

}  // namespace

// First it wants the connection: see Server::detach(). The reason needs memory.
Failure CallWriter::want(Server& server, bool now) {
  server.commands().want(now);
  parts_.polling->attach(server);
  return server.why_down();
}

bool CallWriter::send(Server& server, Call& call) {
  Connection& commands = server.commands();
  call.written.generation = commands.calls().generation();
  // Only now: a connection that comes up later has another generation, and its server another
  // clock.
  if (!commands.up()) return false;
  call.written.script = script_of(call);
  call.route.awaits_asking = call.route.asks_first;
  if (call.kind == Call::Kind::acquire) {
    call.copies = call.acquisition().progress() != Acquisition::Progress::unsent;
  }
  call.written.whole =
      call.written.whole || !commands.loaded().has(call.written.script, call.written.generation);
  Operation& operation = *call.operation;
  Connection::Sent sent{};
  // Again if its successor was taken back after that was written: it goes alone.
  do {
    // First, by itself: it notes in the call what was written. Compilers differ in which argument
    // of a call they make first, and the connection would be given a copy from before that.
    base::Scratch<struct RequestBytes> scratch;
    std::string& bytes = scratch.text();
    write(server, bytes, call);
    sent = commands.send(call, bytes);
  } while (sent == Connection::Sent::withdrawn && call.kind == Call::Kind::release);
  if (sent == Connection::Sent::sent) note_sent(call, operation);
  return sent != Connection::Sent::refused;
}

// The next connection begins with what is wanted by then.
void CallWriter::break_lines() noexcept {
  for (std::size_t i = 0; Server* const server = parts_.topology->nth(i); ++i) {
    if (!server->commands().up() && !parts_.exchange->waiting().any(*server)) continue;
    server->commands().mark_broken({Errc::exhausted, std::string()});
    base::without_memory([&] { static_cast<void>(want(*server, false)); });
  }
}

void CallWriter::note_lost(const Server& server, Call& call) noexcept {
  call.written.whole = false;  // the next connection may have the script
  if (call.kind == Call::Kind::acquire || call.kind == Call::Kind::cancel) {
    // A cancel takes nothing. But its answer may have named a hold.
    note_lost_take(server, call, call.shared_acquisition());
  } else if (call.kind == Call::Kind::release) {
    if (call.why == remote::Purpose::release)
      parts_.attempts.release_lost(call.releasing().hold(), parts_.now());
    if (call.written.goes_on) note_lost_take(server, call, call.releasing().successor());
  } else if (call.kind == Call::Kind::recall) {
    call.copies = call.copies || call.found;
  } else if (call.kind == Call::Kind::force) {
    call.copies = true;
  }
}

void CallWriter::note_lost_take(const Server& server, const Call& call,
                                const std::shared_ptr<Acquisition>& taker) noexcept {
  const Instant now = parts_.now();
  const remote::VoidTime& void_time = call.written.void_time;
  const Instant due = call.kind == Call::Kind::cancel ? now : void_time.look_at(call.asked);
  parts_.attempts.request_lost(taker, void_time.lost(server.clock(), now), due);
}

void CallWriter::write(const Server& server, std::string& bytes, Call& call) {
  const Requests& requests = parts_.requests;
  if (call.route.asks_first) Requests::asking(bytes);
  const Passage passage{.importing = call.route.asks_first, .whole = call.written.whole};
  switch (call.kind) {
    case Call::Kind::acquire: return write_acquire(server, bytes, passage, call);
    case Call::Kind::release: return write_release(server, bytes, passage, call);
    case Call::Kind::cancel: return write_cancel(bytes, passage, call);
    case Call::Kind::renew: return requests.renew(bytes, passage, call.renewal().items());
    case Call::Kind::inspect: return requests.inspect(bytes, passage, call.inspection().name());
    case Call::Kind::force:
      return requests.force_release(bytes, passage, *call.releasing().found());
    case Call::Kind::recall:
      return requests.recall(bytes, passage, call.recollection().key(), call.found.get());
    case Call::Kind::check: return requests.check(bytes, passage);
    case Call::Kind::list:
      return requests.list(bytes, passage, call.listing(),
                           parts_.topology->cursor_at(server, call.listing().cursor()));
    case Call::Kind::queue: return requests.queue(bytes, passage, call.queue_look());
    case Call::Kind::ask: return requests.ask(bytes, passage, call.places().waiters());
    case Call::Kind::slots: return Requests::slots(bytes);
  }
}

void CallWriter::write_acquire(const Server& server, std::string& bytes, Passage passage,
                               Call& call) {
  const Acquisition::Request& request = call.acquisition().request();
  const bool wait = request.wait && parts_.topology->may_wait(server);
  set_void_moment(server, call, request);
  passage.deadline = call.written.void_time.after;
  if (request.mode == Mode::once) {
    parts_.requests.begin(bytes, passage, request, wait,
                          parts_.attempts.conclusion_of(request.attempt));
  } else {
    const bool listening =
        parts_.redisson != nullptr && parts_.redisson->hearing().waits(request.name);
    parts_.requests.acquire(bytes, passage, request, wait, listening);
  }
}

void CallWriter::write_cancel(std::string& bytes, const Passage& passage, Call& call) const {
  const Acquisition& operation = call.acquisition();
  call.written.decided = operation.done();
  std::optional<std::uint64_t> grant;
  if (call.written.decided) grant = operation.grant().number;
  parts_.requests.cancel(bytes, passage, operation.request(), grant);
}

void CallWriter::write_release(const Server& server, std::string& bytes, Passage passage,
                               Call& call) {
  const Release& release = call.releasing();
  const HoldId& hold = release.hold();
  if (hold.mode == Mode::once) {
    passage.undoes = release.undoes();
    return parts_.requests.conclude(bytes, passage, hold, release.conclusion().get());
  }
  const std::shared_ptr<Acquisition>& next = release.successor();
  // A release that is sent again comes behind the cancel of its successor, which nobody would take
  // out of the queue once more.
  if (next) parts_.attempts.wanted(next);
  call.written.goes_on =
      next && !next->done() && !parts_.attempts.is_withdrawn(next->request().attempt);
  if (call.written.goes_on) set_void_moment(server, call, next->request());
  passage.deadline = call.written.void_time.after;
  // Its own short hold is over before it has stopped to listen.
  RedissonSide* const redisson = parts_.redisson_of(hold.mode);
  passage.listening = redisson != nullptr && redisson->hearing().is_still_counted(hold.name);
  parts_.requests.release(
      bytes, passage, hold, call.written.goes_on ? &next->request() : nullptr,
      call.written.goes_on && next->request().wait && parts_.topology->may_wait(server));
}

// The server ignores it after the time that the connection gives to its answer. On a slow link each
// request would arrive too late for a shorter time.
void CallWriter::set_void_moment(const Server& server, Call& call,
                                 const Acquisition::Request& request) const {
  const SentCalls& calls = server.commands().calls();
  call.written.void_time =
      remote::VoidTime::from(server.identity().time(), parts_.now(),
                             calls.time_for(remote::Patience::for_lease(request.lease)));
}

}  // namespace mortise::redis
