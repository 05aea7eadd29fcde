// SPDX-License-Identifier: MIT
// Several servers, each of which has some of the names, and gives them to another one while they
// are held and waited for: parts of RedisBackend. A lock and the keys next to it go with its slot
// as a whole. What a client knows of an attempt does not depend on who has it; only the clock that
// a time was told by does, and the channel on which it is told of grants.
#include "base/mutant.hpp"
#include "base/one_by_one.hpp"
#include "redis/listing.hpp"
#include "redis/lock_key.hpp"
#include "redis/redis_backend.hpp"
#include "redis/rights.hpp"
#include "redis/server_error.hpp"

#include <algorithm>
#include <utility>

namespace mortise::redis {
namespace {

// From server to server: a call that was sent so often waits for the caller's next try.
constexpr std::uint8_t most_moves = 8;

/// Who has which slot: nobody but the backend asks for it.
class LookAtSlots final : public Operation {};

}  // namespace

void RedisBackend::want_look() {
  if (cluster_->want_look(clock_->now())) host_->changed(alarm_);
}

void RedisBackend::look_at_slots(Instant now) {
  const std::vector<Server*> whom = cluster_->begin_look(now);
  std::size_t asked = 0;
  base::OneByOne each;
  for (Server* const server : whom) {
    each([&] {
      submit(Call::slots(std::make_shared<LookAtSlots>(), *server));
      ++asked;
    });
  }
  for (; asked < whom.size(); ++asked) cluster_->end_look(false, now);
  each.finish();
}

Failure RedisBackend::refuses(Server& server, const SlotTable& table) {
  if (!cluster_) return {};
  Failure why = cluster_->refuses(server, table);
  if (!cluster_->is_agreed()) want_look();
  return why;
}

Failure RedisBackend::refusal_of_slots(const Server& server, const Reply& reply) const {
  if (!reply.is_error()) return {};
  Failure why = server_error(server.where(), reply.text).failure;
  if (why.code != Errc::denied) return {};
  why.text += remedy(settings_, reply.text, "+cluster|slots");
  return why;
}

void RedisBackend::answered_slots(Server& server, const Reply& reply) {
  std::optional<SlotTable> table = parse_slots(reply, server.address());
  const Failure refusal = refusal_of_slots(server, reply);
  cluster_->note_refusal(refusal);
  if (refusal) cluster_->note_unusable(refusal);
  bool settled = table && table->whole;
  const Cluster::Verdict verdict =
      table ? cluster_->judge(server, *std::move(table)) : cluster_->judge_silence(server);
  base::OneByOne each;
  each([&] { heard(server, verdict); });
  settled = settled && (verdict.kind == Membership::Verdict::ours ||
                        verdict.kind == Membership::Verdict::agreed);
  for (const Server* const master : cluster_->masters()) {
    settled = settled && !master->is_missed();
  }
  const Instant now = clock_->now();
  cluster_->end_look(settled, now);
  leave_unused(now);
  host_->changed(alarm_);
  each.finish();
}

void RedisBackend::answered_no_slots(Server& server) {
  base::OneByOne each;
  each([&] { heard(server, cluster_->judge_silence(server)); });
  cluster_->end_look(false, clock_->now());
  host_->changed(alarm_);
  each.finish();
}

void RedisBackend::heard(Server& server, const Cluster::Verdict& verdict) {
  switch (verdict.kind) {
    case Membership::Verdict::ours: return follow(cluster_->learn(verdict.table.ranges));
    case Membership::Verdict::agreed:
      static_cast<void>(cluster_->learn(verdict.table.ranges));
      return follow(Cluster::Slots().set());  // no call was sent before
    case Membership::Verdict::foreign: return server.commands().mark_broken(verdict.why);
    case Membership::Verdict::split:
    case Membership::Verdict::none: {
      Failure why = verdict.why ? verdict.why : server.why_down();
      if (!why) {
        why = {Errc::unavailable, describe() + ": no server reports which master has which slot"};
      }
      base::OneByOne each;
      for (Server* const other : cluster_->servers()) {
        each([&] { lose(*other, why, remote::is_final(why), false, {}); });
      }
      return each.finish();
    }
    case Membership::Verdict::undecided: return;
  }
}

// A seed that nobody needed but to learn who has what, or a server that has given its last slot
// away. While a master that the client uses is connected, servers are asked again after a pause: a
// node that an administrator moves to another cluster keeps its connections and says nothing.
void RedisBackend::leave_unused(Instant now) {
  constexpr std::chrono::seconds kept{10};
  if (!cluster_->is_agreed()) return;
  const auto is_look = [](const Call& call) { return call.kind == Call::Kind::slots; };
  const Failure why{Errc::unavailable, describe() + ": the connection is no longer needed"};
  const std::vector<Server*> masters = cluster_->masters();
  bool any = false;
  for (Server* const server : cluster_->servers()) {
    const bool is_master = std::find(masters.begin(), masters.end(), server) != masters.end();
    if (is_master && server->used() != Instant{}) {
      any = any || server->commands().up();
      continue;
    }
    if (!server->commands().up()) {
      const std::lock_guard lock(mutex_);
      server->detach();
      continue;
    }
    any = true;
    if (now - server->used() < kept || server->commands().awaits(is_look)) continue;
    server->commands().mark_broken(why);  // first, or the inbox would be made anew
    server->break_inbox(why);
  }
  if (any) static_cast<void>(cluster_->want_look(now + kept));
}

// What waits for a server that has it no more goes to the one that has.
void RedisBackend::follow(const Cluster::Slots& changed) {
  if (changed.none()) return;
  base::OneByOne each;
  for (Server* const server : cluster_->servers()) {
    each([&] { send_again(server->take_kept()); });
  }
  for (const auto& operation : attempts_.undecided()) {
    if (changed.test(slot_of(operation->request().name))) each([&] { ask_once(operation); });
  }
  for (const auto& operation : attempts_.to_undo(clock_->now())) take_back(operation);
  look_at_leftovers(clock_->now());
  each.finish();
}

// By each connection once: the second copy of a try would take for nobody what was freed in
// between.
void RedisBackend::ask_once(const std::shared_ptr<Acquisition>& operation) {
  Call call = Call::acquire(operation, clock_->now());
  call.once = true;
  submit(std::move(call));
}

// A call that was refused so has done nothing.
bool RedisBackend::redirected(Server& server, const Call& call, const std::string& words) {
  if (call.kind == Call::Kind::list && words.starts_with("READONLY")) {
    Call again = call;
    again.since = clock_->now();
    want_look();
    run_again_later(again, std::chrono::milliseconds(50));
    return true;
  }
  const auto where = parse_redirection(words, server.address());
  if (!where || call.moves == most_moves) return false;
  if (call.whole) server.commands().loaded().forget();  // it was not read
  Server& to = cluster_->at(where->to);
  const bool for_once = where->for_once && !base::mutant("redis.ask_is_moved");
  const bool news = !for_once && cluster_->moved(where->slot, to);
  if (!for_once) want_look();
  const bool acquires = call.kind == Call::Kind::acquire;
  const bool over = acquires ? attempts_.is_withdrawn(call.attempt())
                             : call.kind != Call::Kind::cancel && call.operation->done();
  if (acquires) attempts_.refuse(call.attempt());
  if (!over) {
    Call again = call;
    again.whole = false;
    again.at = for_once ? &to : nullptr;
    again.asks_first = for_once && !base::mutant("redis.ask_without_asking");
    again.once = acquires && !for_once && !call.acquisition().request().wait;
    ++again.moves;
    submit(std::move(again));
  }
  if (!news) return true;
  for (const auto& operation : attempts_.undecided()) {
    if (slot_of(operation->request().name) == where->slot) ask_once(operation);
  }
  return true;
}

void RedisBackend::lost_in_cluster(Server& server, Calls& calls) {
  base::OneByOne each;
  for (Call& call : calls) {
    if (!call.asks_first) continue;
    call.at = nullptr;  // whoever sent it here may have it again, or nobody
    call.asks_first = false;
    if (call.kind == Call::Kind::acquire) each([&] { ask_once(call.shared_acquisition()); });
  }
  if (cluster_->has_slots(server) && server.used() != Instant{}) want_look();
  each.finish();
}

// Each name has a channel in its slot. The waiter stands in the queue before anybody listens there;
// what it is told until then reaches nobody, so it asks once more when the server has confirmed.
void RedisBackend::listen(Server& server, const Acquisition::Request& request) {
  if (!server.has_inbox()) return open_inbox(server, request.attempt);
  Server& at = base::mutant("redis.inbox_of_the_wrong_node") ? *cluster_->nth(0) : server;
  if (server.listens()) at.names()->wait(request.name, clock_->now());
}

bool RedisBackend::says(Server& server, bool begins, const std::string& name) {
  const std::string inbox = server.channel();
  std::string bytes;
  begins ? requests_.subscribe_to(bytes, inbox, name)
         : requests_.unsubscribe_from(bytes, inbox, name);
  return server.say_to_inbox(bytes);
}

void RedisBackend::told_of_subscription(Server& server, const Reply& message) {
  const std::optional<std::string> name = lock_name(server.channel(), message.items[1].text);
  if (!name) return;
  if (message.items[0].text == "ssubscribe") {
    if (server.names()->began(*name, clock_->now())) ask_for(*name);
  } else if (!base::mutant("redis.subscription_outlives_its_slot") &&
             server.names()->ended(*name)) {
    // Nobody asked for that: the slot has left.
    want_look();
    ask_for(*name);
  }
}

void RedisBackend::ask_for(const std::string& name) {
  for (const auto& operation : attempts_.undecided()) {
    if (operation->request().name == name && operation->request().wait) ask(operation);
  }
}

// One master after the other, in the order of their addresses, each with cursors of its own. One
// that was met by nobody yet is not left out, nor are names that one has who did not: the cluster
// is asked who there is, before the first page. A client that does nothing else is told of no
// change, and a master that was replaced has a page without a name.
void RedisBackend::list_cluster(const Call& call) {
  constexpr std::chrono::milliseconds pause{10};
  const auto operation = std::static_pointer_cast<Listing>(call.operation);
  const bool begins = operation->cursor().empty();
  if (!cluster_->is_told(begins ? call.since : Instant::min())) {
    if (Failure why = cluster_->refusal()) return operation->failed(std::move(why));
    want_look();
    return run_again_later(call, pause);
  }
  const ClusterCursor where = ClusterCursor::parse(operation->cursor());
  const std::vector<Server*> masters = cluster_->masters();
  const auto at = std::find_if(masters.begin(), masters.end(), [&](const Server* each) {
    return each->address().text() >= where.server;
  });
  if (at == masters.end()) return operation->answered({});
  Server& server = **at;
  std::optional<ListCursor> cursor = ListCursor::parse(where.at(server.address().text()));
  const bool of_ours = !where.server.empty() || where.at_server.empty();
  if (!cursor || !of_ours) {
    operation->failed(
        {Errc::misconfigured,
         describe() + ": the cursor is invalid; pass the cursor of the previous page"});
  } else if (!cursor->left.empty() || cursor->ended) {
    NamePage page = cursor->take(operation->limit(), operation->prefix());
    answered_page(server, Call::list(operation), std::move(page));
  } else {
    Call page = call;
    page.whole = false;
    page.at = &server;
    submit(std::move(page));
  }
}

// A server that has none leads to the next one.
void RedisBackend::answered_page(Server& server, const Call& call, NamePage page) {
  const std::string here = server.address().text();
  Server* next = nullptr;
  if (page.cursor.empty()) {
    for (Server* const each : cluster_->masters()) {
      if (each->address().text() <= here) continue;
      next = each;
      break;
    }
  }
  if (next != nullptr && page.names.empty()) {
    Call more = call;
    more.whole = false;
    more.at = next;
    return submit(std::move(more));
  }
  const std::string there = next == nullptr ? here : next->address().text();
  if (next != nullptr || !page.cursor.empty()) {
    page.cursor = ClusterCursor{.server = there, .at_server = page.cursor}.text();
  }
  static_cast<Listing&>(*call.operation).answered(std::move(page));
}

}  // namespace mortise::redis
