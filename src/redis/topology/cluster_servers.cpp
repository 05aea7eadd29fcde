// SPDX-License-Identifier: MIT
// What becomes of a call whose slot is somewhere else.
#include "redis/topology/cluster_servers.hpp"

#include "base/mutant.hpp"
#include "base/one_by_one.hpp"
#include "redis/store/rights.hpp"

#include <chrono>
#include <utility>

namespace mortise::redis {
namespace {

// From server to server: a call that was sent so often waits for the caller's next try.
constexpr std::uint8_t most_moves = 8;

// The slot of the name may be on its way: then the script may have failed halfway.
bool may_have_released(const Call& call, const ServerError& error) {
  return call.kind == Call::Kind::release && error.kind == ServerError::Kind::passing &&
         !(call.releasing().conclusion() && error.failure.code == Errc::exhausted);
}

}  // namespace

ClusterServers::ClusterServers(Parts& parts, Cluster::Make make)
    : parts_(parts), cluster_(parts.settings, std::move(make)) {}

void ClusterServers::use(Server& server, const Call& call) {
  if (call.kind != Call::Kind::slots) server.use(parts_.now());
}

// One server of several in the URL decides nothing as long as they have not agreed on a cluster.
bool ClusterServers::is_needed(const Failure& why) {
  if (cluster_.is_agreed()) return true;
  cluster_.note_unusable(why);
  return false;
}

bool ClusterServers::redirects(Server& server, const Call& call, const Reply& reply,
                               ServerError& error) {
  if (error.kind == ServerError::Kind::script) return false;
  if (redirected(server, call, reply.text)) return true;
  // Again and again, or to a server without an address.
  if (is_redirection(reply.text)) {
    error.kind = ServerError::Kind::passing;
    error.failure.code = make_error_code(Errc::unavailable);
  }
  if (error.kind != ServerError::Kind::final) survey_.want();
  if (may_have_released(call, error)) {
    parts_.attempts.release_lost(call.releasing().hold(), parts_.now());
  }
  return false;
}

// A call that was refused so has done nothing.
bool ClusterServers::redirected(Server& server, const Call& call, const std::string& words) {
  if (call.kind == Call::Kind::list && words.starts_with("READONLY")) {
    Call again = call;
    again.since = parts_.now();
    survey_.want();
    parts_.exchange->repeat_at(again, parts_.now() + std::chrono::milliseconds(50));
    return true;
  }
  const auto where = parse_redirection(words, server.identity().address());
  if (!where || call.route.moves == most_moves) return false;
  if (call.written.whole) server.commands().loaded().forget();  // it was not read
  Server& to = cluster_.at(where->to);
  const bool for_once = where->for_once && !base::mutant("redis.ask_is_moved");
  const bool news = !for_once && cluster_.moved(where->slot, to);
  if (!for_once) survey_.want();
  const bool acquires = call.kind == Call::Kind::acquire;
  const bool over = acquires ? parts_.attempts.is_withdrawn(call.attempt())
                             : call.kind != Call::Kind::cancel && call.operation->done();
  if (acquires) parts_.attempts.refuse(call.attempt());
  if (!over) {
    Call again = call;
    again.written.whole = false;
    again.route.at = for_once ? &to : nullptr;
    again.route.asks_first = for_once && !base::mutant("redis.ask_without_asking");
    again.once = acquires && !for_once && !call.acquisition().request().wait;
    ++again.route.moves;
    parts_.exchange->submit(std::move(again));
  }
  if (!news) return true;
  for (const auto& operation : parts_.attempts.undecided()) {
    if (slot_of(operation->request().name) == where->slot) parts_.exchange->ask(operation, true);
  }
  return true;
}

void ClusterServers::lost(Server& server, Exchange::Calls& calls) {
  base::OneByOne each;
  for (Call& call : calls) {
    if (!call.route.asks_first) continue;
    call.route.at = nullptr;  // whoever sent it here may have it again, or nobody
    call.route.asks_first = false;
    if (call.kind == Call::Kind::acquire) {
      each([&] { parts_.exchange->ask(call.shared_acquisition(), true); });
    }
  }
  if (cluster_.has_slots(server) && server.used() != Instant{}) survey_.want();
  each.finish();
}

bool ClusterServers::takes_refusal(Server& server, const ServerError& error,
                                   const std::string& words) {
  if (error.failure.code == Errc::denied) {
    server.inbox().mark_broken({Errc::denied, error.failure.text + remedy(parts_.settings, words)});
    return true;
  }
  // Said anew when its waiters ask the next time. A cluster that is down would refuse it of each
  // new connection as well, and that would take the names along that are listened to.
  server.inbox().names()->refused();
  survey_.want();
  return true;
}

}  // namespace mortise::redis
