// SPDX-License-Identifier: MIT
// What readers have more than owners: one may have been the owner just now, and goes on without a
// gap; and whoever keeps joining their hold is to know that somebody waits for its end.
#include "base/mutant.hpp"
#include "zookeeper/lock_path.hpp"
#include "zookeeper/zookeeper_backend.hpp"

#include <utility>

namespace mortise::zookeeper {

// @return the hold that a reader goes on from; null = it queues as any other.
ZooKeeperBackend::ContenderPtr ZooKeeperBackend::owner_of(const Contender& reader) const {
  if (reader.mode != Mode::shared || !reader.beside) return nullptr;
  ContenderPtr owner = find(*reader.beside);
  const bool stands = owner && owner->held && !owner->node.empty() && owner->path == reader.path;
  return stands ? owner : nullptr;
}

// A node with the number of its own, so that it stands before all who wait; by Curator's locks it
// is done so, too. Whoever waits for the owner's end alone would have the lock with that, so it is
// told first: the owner's data is written, in the same transaction. That fails where the owner's
// node has gone.
//
// Whoever waits was given the number of its node, which is its token, before this one is made. So
// the reader's is the owner's; its name says so to those who look at it.
void ZooKeeperBackend::go_on_as_reader(const ContenderPtr& contender, const Contender& owner) {
  const std::string digits = owner.node.substr(owner.prefix.size());
  std::string node =
      contender->path + '/' +
      node_prefix(contender->attempt, contender->round,
                  hexadecimal(static_cast<std::uint64_t>(owner.number)), true, settings_.naming) +
      digits;
  contender->operation->sent(clock_->now());
  std::vector<Write> writes;
  if (base::mutant("zookeeper.owner_reads_on_untold")) {
    writes.push_back({.kind = Write::Kind::check, .path = owner.node});
  } else {
    writes.push_back({.kind = Write::Kind::set, .path = owner.node, .data = owner.label});
  }
  writes.push_back({.kind = Write::Kind::create_own, .path = node, .data = contender->label});
  if (!contender->session->write(std::move(writes),
                                 {.step = Step::go_on, .contender = contender})) {
    return;
  }
  contender->beside_number = owner.number;
  contender->prefix = std::move(node);
  contender->unsure = true;
  ++contender->flight;
}

void ZooKeeperBackend::went_on(const ContenderPtr& contender, const Reply& reply) {
  switch (reply.code) {
    case Code::unknown:
    case Code::ended: return drive(contender);  // to be settled
    case Code::ok:
      contender->unsure = false;
      contender->node = contender->prefix;
      contender->number = contender->beside_number;
      if (base::mutant("zookeeper.reader_has_a_number_of_its_own")) ++contender->number;
      break;
    case Code::no_node:
      // The owner's is no more: it queues as any other.
      contender->beside.reset();
      forget_node(contender);
      break;
    case Code::not_done:
      // Nothing was made. Its owner may be gone when it asks again, and it queue as any other: by a
      // name that the server puts a number behind, and not by one that has the owner's.
      if (contender->operation) contender->operation->trouble(failure_of(reply, contender->path));
      if (base::mutant("zookeeper.refused_reader_keeps_its_name")) {
        contender->unsure = false;
        return;
      }
      forget_node(contender);
      if (contender->leaving) drive(contender);  // it asks for nothing any more
      return;
    default: contender->unsure = false; return fail(contender, failure_of(reply, contender->path));
  }
  if (contender->node.empty() || contender->leaving || contender->withdrawn) {
    return drive(contender);
  }
  believe(contender);
}

// With each renewal, since nobody else would tell: whoever waits asks its predecessor for nothing.
bool ZooKeeperBackend::ask_who_waits(const ContenderPtr& contender, Instant now) {
  if (base::mutant("zookeeper.nobody_wants_what_is_read")) return false;
  const bool asked = contender->session->list(
      contender->path, {.step = Step::crowd, .contender = contender, .asked = now});
  if (asked) ++contender->flight;
  return asked;
}

void ZooKeeperBackend::told_who_waits(const ContenderPtr& contender, const Call& call,
                                      const Reply& reply) {
  if (!contender->held || reply.code != Code::ok) {
    settle_news(*contender, call.asked);
    if (!contender->held) drive(contender);
    return;
  }
  const std::string_view own = std::string_view(contender->node).substr(contender->path.size() + 1);
  const Place place = Place::of(*reply.children, own, settings_.naming);
  const bool news = place.wanted && !contender->wanted;
  contender->wanted = place.wanted;
  contender->wanted_as_of = call.asked;
  // First: the renewal that has asked may wait for a pulse, of which others speak as well.
  if (news) then([this, hold = hold_id_of(*contender)] { host_->hold_wanted(hold); });
  settle_news(*contender, call.asked);
}

}  // namespace mortise::zookeeper
