// SPDX-License-Identifier: MIT
#include "redlock/redlock_client.hpp"

#include "base/farewell.hpp"
#include "base/mutant.hpp"
#include "base/one_by_one.hpp"
#include "redis/store/rights.hpp"
#include "redis/store/server_error.hpp"

#include <algorithm>
#include <chrono>
#include <initializer_list>
#include <utility>
#include <vector>

namespace mortise::redlock {
namespace {

using redis::Call;
using redis::Reply;
using redis::ServerError;

/// @return true if a server of ours may answer this with that.
bool makes_sense(const Call& call, VoteReply::Kind kind) {
  using enum VoteReply::Kind;
  const auto is_one_of = [kind](std::initializer_list<VoteReply::Kind> kinds) {
    return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
  };
  switch (call.kind) {
    case Call::Kind::acquire: return is_one_of({vote, busy, late, VoteReply::Kind::refused});
    case Call::Kind::ask: return is_one_of({vote, higher, none});
    case Call::Kind::cancel:
    case Call::Kind::release: return is_one_of({none, freed, freed_before, lapsed});
    case Call::Kind::renew: return kind == renewed;
    default: return is_one_of({held, VoteReply::Kind::free});
  }
}

/// A server fails the whole script if one of its locks has a key of another type, or a name that
/// this user may not use.
bool may_concern_one_name(const ServerError& error, std::string_view words) {
  return error.failure.code == Errc::protocol ||
         redis::what_is_refused(words) == redis::Refused::key;
}

void give_up(const Call& call, const Failure& why) {
  if (call.kind == Call::Kind::release) return ending_in(call).release->failed(why);
  const bool is_request = call.kind == Call::Kind::renew || call.kind == Call::Kind::inspect;
  if (is_request) request_in<QuorumRequest>(call).give_up(why);
}

// Addresses that lead to one server are tried again so often if another server has to receive
// something.
constexpr std::chrono::seconds astray_again{1};

}  // namespace

void Polling::attach_all() {
  for (const auto& node : parts_.servers.nodes()) node->attach();
}

void Polling::detach_all() noexcept {
  for (const auto& node : parts_.servers.nodes()) node->detach();
}

void Polling::wake(Instant when) {
  if (due_.bring_forward(when)) sooner();
}

void Polling::lead_home_later() {
  if (parts_.servers.is_home_wanted()) wake(parts_.now() + astray_again);
}

void Polling::ready(short /*events*/, Instant now) {
  if (!due_.take(now)) return;
  Instant next = never;
  base::OneByOne each;
  if (!is_ending_.load()) each([&] { parts_.waits->tick(now); });
  parts_.servers.each([&](Server& server) {
    each([&] { server.exchange().tick(now); });
    next = std::min(next, server.exchange().due());
  });
  each([&] { parts_.servers.lead_home(); });
  if (!is_ending_.load()) next = std::min(next, parts_.attempts.due());
  if (parts_.servers.is_home_wanted() || each.failed()) {
    next = std::min<Instant>(next, now + astray_again);
  }
  if (next != never) wake(next);
  each.finish();
}

// A release ends with the answers of a majority. Another server may then answer that it does not
// know the script, and must receive the script. If a connection is closed with an unread answer,
// its server may not even read the request. A vote that a lost request may still take is taken back
// as well.
bool Polling::is_any_pending(Instant in_time) {
  const Line::Nodes& nodes = parts_.servers.nodes();
  return std::any_of(nodes.begin(), nodes.end(), [&](const auto& node) {
    return node->usable() &&
           (node->commands().pipeline().awaits(takes_back) || node->server().is_owed(in_time));
  });
}

void Polling::add_sources(std::vector<Source*>& sources) {
  for (const auto& node : parts_.servers.nodes()) node->add_sources(sources);
}

RedlockClient::RedlockClient(const Settings& settings, const std::string& words,
                             const remote::Tls* tls, Host& host)
    : requests(settings.nodes.front().prefix),
      writer(requests, host.clock()),
      servers(settings, host, writer, tls, *this, *this),
      attempts(servers.quorum()),
      parts{.words = words,
            .requests = requests,
            .host = host,
            .clock = host.clock(),
            .servers = servers,
            .attempts = attempts,
            .awaited = awaited_,
            .polling = &polling,
            .rounds = &rounds,
            .waits = &waits,
            .releases = &releases,
            .renewals = &renewals} {}

void RedlockClient::close() noexcept {
  if (!polling.close()) return;
  // Without memory for it, each waiting caller finds that the client is closed.
  Failure closed(Errc::closed, std::string());
  base::without_memory([&] { closed.text = parts.words; });
  const auto give_up_all = [&](const std::list<Call>& calls) {
    for (const Call& call : calls) base::without_memory([&] { give_up(call, closed); });
  };
  servers.each([&](Server& server) { give_up_all(server.exchange().close()); });
  for (const auto& node : servers.nodes()) {
    base::without_memory([&] { give_up_all(node->close()); });
  }
  servers.each([&](Server& server) { give_up_all(server.exchange().close()); });
  base::without_memory([&] {
    for (const auto& attempt : attempts.close()) {
      attempt->operation->failed(closed);
      const Lock lock(attempt->mutex);
      if (attempt->ending) attempt->ending->release->failed(closed);
    }
  });
  base::without_memory([&] {
    for (const auto& looking : questions.close()) looking->give_up(closed);
  });
}

Server* RedlockClient::recognise(Node& node, const std::string& run_id) {
  Server& server = servers.arrived(node, run_id);
  polling.lead_home_later();
  return &server;
}

void RedlockClient::up(Node& node) {
  base::OneByOne each;
  each([&] { servers.connected(node); });
  each([&] { rounds.up(node); });
  each([&] { questions.up(node); });
  each.finish();
}

// Connects it again if a caller waits for it, or if it still has to receive a release.
void RedlockClient::down(Node& node, bool was_up, std::list<Call> unanswered) {
  if (polling.is_closed()) return;
  base::OneByOne each;
  Failure why;
  each([&] { why = node.why(); });
  // Only now: another address that leads there may be all that leads there, and is asked then.
  bool clear_now = false;
  each([&] { clear_now = servers.whereabouts().left(node.index(), was_up); });
  for (const Call& call : unanswered) {
    if (!takes_back(call)) each([&] { no_answer(node, call, why, false, false); });
  }
  unanswered.remove_if([](const Call& call) { return !is_of_exchange(call); });
  if (was_up) each([&] { node.server().disconnected(std::move(unanswered)); });
  const bool is_doubted = servers.whereabouts().in_doubt(node.index());
  bool wanted = is_doubted;
  each([&] { wanted = servers.is_any_owed() || wanted; });
  each([&] { wanted = rounds.down(node, clear_now) || wanted; });
  each([&] { wanted = questions.down() || wanted; });
  if (wanted || each.failed()) node.want(is_doubted);
  each.finish();
}

bool RedlockClient::admits(Node& node, const Call& call) {
  if (call.kind == Call::Kind::acquire) return node.server().admits(shared_in<Ballot>(call));
  return call.kind != Call::Kind::inspect || !request_in<Looking>(call).abandoned();
}

void RedlockClient::not_asked(Node& node, const Call& take) {
  no_answer(node, take, node.why(), false, false);
}

void RedlockClient::answered(Node& node, const Call& call, const Reply& reply) {
  if (reply.is_error()) return refused(node, call, reply);
  std::optional<VoteReply> vote = VoteReply::parse(reply);
  if (!vote || !makes_sense(call, vote->kind)) return nonsense(node, call);
  // A call that takes a vote back may have waited for its connection.
  if (!takes_back(call)) node.clock().read(call.asked, vote->now, parts.now());
  bool is_good = true;
  switch (call.kind) {
    case Call::Kind::acquire: rounds.on_take(node, call, *std::move(vote)); break;
    case Call::Kind::ask: rounds.on_settle(node, call, *vote); break;
    case Call::Kind::cancel: rounds.on_undo(node, call, *vote); break;
    case Call::Kind::release: releases.on_answer(node, call, *vote); break;
    case Call::Kind::renew: is_good = renewals.on_answer(node, call, *vote); break;
    default: is_good = questions.on_answer(node, call, *std::move(vote));
  }
  if (!is_good) return nonsense(node, call);
  node.server().let_leave();
}

void RedlockClient::no_answer(Node& node, const Call& call, const Failure& why, bool refused,
                              bool apart) {
  switch (call.kind) {
    case Call::Kind::acquire:
    case Call::Kind::ask: return rounds.no_vote(node, call, why);
    case Call::Kind::renew: return renewals.no_answer(node, call, why, refused, apart);
    case Call::Kind::inspect: return questions.no_answer(node, call, why, refused);
    default: return;  // the exchange of its server repeats it
  }
}

// The server does not know the script. @return false: the call cannot be sent once more
bool RedlockClient::send_whole(Node& node, Call call) {
  node.commands().loaded().forget();
  call.written.whole = true;
  Server& server = node.server();
  if (is_of_exchange(call)) {
    if (call.kind == Call::Kind::acquire) server.refused(ballot_in(call));
    server.exchange().submit(std::move(call));
    return true;
  }
  return writer.send(node, std::move(call)) == redis::Connection::Sent::sent;
}

void RedlockClient::refused(Node& node, const Call& call, const Reply& reply) {
  ServerError error = redis::server_error(node.where(), reply.text);
  error.failure.text += redis::remedy(node.settings(), reply.text);
  if (error.kind == ServerError::Kind::script && !call.written.whole) {
    if (!send_whole(node, call)) no_answer(node, call, error.failure, true, false);
    return;
  }
  if (takes_back(call)) {
    if (call.kind == Call::Kind::release) releases.on_refusal(node, ending_in(call), error.failure);
    // It is repeated after every error. Otherwise the vote would keep other clients out for a whole
    // lease. And a proxy between the client and the server may have made that error.
    if (!base::mutant("redlock.refused_undo_is_forgotten")) {
      node.server().exchange().refused(call, error.failure, false);
    }
  } else {
    no_answer(node, call, error.failure, true, may_concern_one_name(error, reply.text));
  }
  if (error.kind == ServerError::Kind::elsewhere) node.commands().drop(error.failure);
}

void RedlockClient::nonsense(Node& node, const Call& call) {
  const Failure why(Errc::protocol, node.where() + ": the server sent an invalid reply");
  // As a call that was not answered: it may have been executed.
  if (is_of_exchange(call)) node.server().misread(call, why);
  node.commands().drop(why);
  no_answer(node, call, why, false, false);
}

}  // namespace mortise::redlock
