// SPDX-License-Identifier: MIT
#include "redlock/line.hpp"

#include "base/farewell.hpp"
#include "base/scratch.hpp"
#include "core/figures.hpp"
#include "redlock/quorum_request.hpp"
#include "redlock/server.hpp"
#include "remote/void_moment.hpp"

#include <algorithm>
#include <utility>

namespace mortise::redlock {
namespace {

using redis::Call;
using Sent = redis::Connection::Sent;

// A hold that was ended by force may be in the middle of a renewal.
constexpr std::chrono::minutes barred_at_least{1};

/// @return how long the answer to a call may take.
std::chrono::nanoseconds time_of(const Call& call) noexcept {
  switch (call.kind) {
    case Call::Kind::acquire:
    case Call::Kind::ask:
      return node_timeout(std::chrono::nanoseconds(ballot_in(call).lease.load()));
    case Call::Kind::renew: return request_in<Renewing>(call).time;
    default: return patience;
  }
}

/// @return the script's number on a connection (see redis::LoadedScripts).
std::uint8_t script_of(const Call& call) noexcept {
  enum : std::uint8_t { acquire, share, settle, release, renew, inspect };
  switch (call.kind) {
    case Call::Kind::acquire:
      return ballot_in(call).attempted().mode == Mode::shared ? share : acquire;
    case Call::Kind::ask: return settle;
    case Call::Kind::cancel:
    case Call::Kind::release: return release;
    case Call::Kind::renew: return renew;
    default: return inspect;
  }
}

}  // namespace

redis::Connection::Sent CallWriter::send(Node& node, Call call, const Server* only) const {
  base::Scratch<struct RequestBytes> scratch;
  std::string& bytes = scratch.text();
  call.written.generation = node.generation();
  // Only now: a connection that came up later has another generation.
  if (!node.usable() || (only != nullptr && &node.server() != only)) {
    return redis::Connection::Sent::refused;
  }
  call.route.node = node.index();
  call.patience = {};
  const std::chrono::nanoseconds time = time_of(call);
  const Instant now = clock_->now();
  if (call.asked == Instant{}) call.asked = now;
  call.deadline = now + time;
  if (call.kind == Call::Kind::acquire) {
    call.written.void_time = remote::VoidTime::from(node.clock(), now, time);
  }
  call.written.script = script_of(call);
  call.written.whole = call.written.whole ||
                       !node.commands().loaded().has(call.written.script, call.written.generation);
  write(bytes, call, node);
  return node.send(std::move(call), bytes);
}

void CallWriter::write(std::string& bytes, const Call& call, Node& node) const {
  Passage passage{.whole = call.written.whole, .void_after = call.written.void_time.after};
  switch (call.kind) {
    case Call::Kind::acquire:
      passage.step = ballot_in(call).step;
      return write_take(bytes, passage, ballot_in(call), node);
    case Call::Kind::ask: {
      const Ballot& ballot = ballot_in(call);
      passage.step = ballot.step;
      return requests_.settle(bytes, passage,
                              {.name = ballot.attempted().name,
                               .attempt = ballot.attempted().attempt,
                               .number = ballot.settled.load()});
    }
    case Call::Kind::cancel: {
      const Ballot& ballot = ballot_in(call);
      passage.step = ballot.step;
      return requests_.undo(bytes, passage, ballot.attempted().name, ballot.attempted().attempt,
                            ballot.leaves.load());
    }
    case Call::Kind::release: return write_ending(bytes, passage, ending_in(call));
    case Call::Kind::renew:
      return requests_.renew(bytes, passage, request_in<Renewing>(call).renewal->items());
    default: break;
  }
  const auto& looking = request_in<Looking>(call);
  if (looking.queue) return requests_.whose(bytes, passage, looking.queue->name());
  if (looking.check) return requests_.check(bytes, passage);
  requests_.inspect(bytes, passage, looking.inspection->name());
}

void CallWriter::write_take(std::string& bytes, const Passage& passage, const Ballot& ballot,
                            Node& node) const {
  const Acquisition::Request& request = ballot.attempted();
  if (const std::uint64_t number = ballot.number.load(); number != 0) {
    return requests_.relock(
        bytes, passage,
        {.name = request.name, .attempt = request.attempt, .number = number, .mode = request.mode},
        std::chrono::nanoseconds(ballot.lease.load()));
  }
  requests_.take(
      bytes, passage, request,
      {.interested = request.wait && node.inbox().listens(), .steps_back = ballot.steps_back},
      ballot.proposal);
}

void CallWriter::write_ending(std::string& bytes, Passage passage, const Ending& ending) const {
  const Ending::Terms& terms = ending.terms;
  const HoldId& hold = ending.release->hold();
  passage.step = terms.step;
  // The server must not give the hold its vote again, even if a renewal of its client is under way.
  std::chrono::milliseconds barred{0};
  if (ending.is_by_force()) {
    barred = std::chrono::ceil<std::chrono::milliseconds>(
        std::max<core::Nanos>(terms.until - clock_->now(), barred_at_least));
  }
  // A server that voted late may not know the hold's number yet.
  if (terms.exactly) return requests_.release(bytes, passage, hold, barred);
  requests_.undo(bytes, passage, hold.name, hold.attempt, true, barred);
}

// A broken connection looks usable for a moment, but takes no call.
bool Line::leads_here(Node& node) const noexcept {
  return node.usable() && node.commands().up() && &node.server() == &server_;
}

remote::LineState Line::state_of(const Line& /*line*/) const noexcept {
  remote::LineState state;
  for (const auto& node : shared_.nodes) {
    if (!leads_here(*node)) continue;
    state.connection = any_connection;
    state.has_room = state.has_room && node->commands().calls().has_room();
  }
  return state;
}

// Any address may be the next one that leads there.
Failure Line::want(Line& /*line*/, bool /*now*/) {
  for (const auto& node : shared_.nodes) {
    if (!node->usable()) node->want(false);
  }
  return {};
}

bool Line::send(Line& /*line*/, Call& call) {
  if (call.kind == Call::Kind::acquire) return call.once || send_take(call);
  // The server has ended the hold by itself: no exchange sends its release any more.
  if (call.kind == Call::Kind::release && ending_in(call).expire(shared_.clock->now())) return true;
  // The release of the hold takes back what a lost request for its vote took.
  const bool stands = call.why == remote::Purpose::look &&
                      courses_.ask(call.attempt(), &remote::AttemptCourse::number) != 0;
  bool sent = stands;
  for (const auto& node : shared_.nodes) {
    if (stands || !leads_here(*node)) continue;
    sent = shared_.writer.send(*node, call, &server_) == Sent::sent || sent;
  }
  return sent;
}

bool Line::send_take(Call& call) {
  Node& node = *shared_.nodes[call.route.node];
  const Instant now = shared_.clock->now();
  const Sent sent = leads_here(node) ? shared_.writer.send(node, call, &server_) : Sent::refused;
  if (sent == Sent::refused) shared_.user.not_asked(node, call);
  // For a hold it was sent before.
  const bool is_first = ballot_in(call).number.load() == 0;
  if (sent == Sent::sent && is_first) ballot_in(call).wanted->sent(now);
  return sent != Sent::refused;
}

void Line::note_lost(const Line& /*line*/, Call& call) noexcept {
  const Instant now = shared_.clock->now();
  if (call.kind == Call::Kind::acquire) {
    courses_.request_lost(call.shared_acquisition(), call.written.void_time.lost(server_.id(), now),
                          call.deadline + remote::VoidMoment::a_moment);
  } else if (call.kind == Call::Kind::release) {
    courses_.release_lost(call.releasing().hold(), now);
  }
}

void Line::break_lines() noexcept {
  for (const auto& node : shared_.nodes) {
    if (leads_here(*node)) node->connect_anew({Errc::exhausted, std::string()}, false);
    base::without_memory([&] { node->want(false); });
  }
}

}  // namespace mortise::redlock
