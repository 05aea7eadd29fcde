// SPDX-License-Identifier: MIT
// What the server answers, and what that makes of an attempt.
#include "base/mutant.hpp"
#include "core/figures.hpp"
#include "zookeeper/zookeeper_backend.hpp"

#include <charconv>
#include <utility>

namespace mortise::zookeeper {
namespace {

/// What Curator's `Revoker` writes over the data of a node whose holder is to let go.
constexpr std::string_view revoked = "__REVOKE__";

bool is_lost(Code code) noexcept { return code == Code::unknown || code == Code::ended; }

std::string child_of(const std::string& parent, std::string_view name) {
  std::string path = parent;
  path += '/';
  path += name;
  return path;
}

std::string undeletable(const std::string& node, const Reply& reply) {
  return node + " cannot be deleted: " + words_of(reply);
}

}  // namespace

Holder ZooKeeperBackend::holder_of(const Reply& reply, std::string_view node, std::size_t waiters) {
  const std::string_view name = node.substr(node.rfind('/') + 1);
  const auto standing = Standing::of(name);
  const bool shared = standing && standing->shared;
  const bool permit = !standing && name.find("-lease-") != std::string_view::npos;
  auto number = static_cast<std::uint64_t>(reply.czxid);
  // Of a reader that was the owner before.
  const std::string_view mark = shared ? mark_in(name) : std::string_view();
  static_cast<void>(std::from_chars(mark.data(), mark.data() + mark.size(), number, 16));
  const std::string_view label = reply.text == revoked ? std::string_view() : reply.text;
  return {.label = std::string(label.substr(0, core::longest_label)),
          .token = Token(number * core::tokens_in_a_grant),
          .expires_in = {},
          .waiters = waiters,
          .mode = shared   ? Mode::shared
                  : permit ? Mode::permit
                           : Mode::exclusive};
}

Failure ZooKeeperBackend::failure_of(const Reply& reply, const std::string& what) const {
  const std::string words = where_ + ": " + what + ": " + words_of(reply);
  switch (reply.code) {
    case Code::denied:
    case Code::no_user: return {Errc::denied, words};
    case Code::local: return {Errc::misconfigured, words};
    case Code::quota: return {Errc::exhausted, words};
    case Code::unsupported: return {Errc::unsupported, words};
    case Code::not_done:
    case Code::unknown:
    case Code::ended: return {Errc::unavailable, words};
    case Code::ok:
    case Code::no_node:
    case Code::exists:
    case Code::not_empty:
    case Code::other_version:
    case Code::ephemeral:
    case Code::wrong: break;
  }
  return {Errc::protocol, words};
}

void ZooKeeperBackend::replied(Session& session, const Call& call, const Reply& reply) {
  const ContenderPtr& contender = call.contender;
  if (call.step == Step::beat || call.step == Step::beat_write) {
    return beaten(session, call, reply);
  }
  if (call.step == Step::doubt) {
    if (reply.code == Code::ok) sweep(session, call.path, *reply.children);
    return;
  }
  if (call.step == Step::doubt_gone) {
    if (reply.code == Code::ok || reply.code == Code::no_node) drop_doubt(call.path);
    if (reply.code == Code::denied) session.give_up(undeletable(call.path, reply));
    return;
  }
  switch (call.step) {
    case Step::tidy_list:
    case Step::tidy_shelf:
    case Step::tidy_look:
    case Step::tidy_queue: return tidied(session, call, reply);
    default: break;
  }
  switch (call.step) {
    case Step::gather:
    case Step::gather_queue:
    case Step::gather_name: return gathered(session, call, reply);
    default: break;
  }
  if (!contender) return replied_to_one_shot(session, call, reply);
  if (call.step == Step::own_watch) {
    if (!contender->erased) own_watched(contender, reply);
    return;
  }
  --contender->flight;
  if (contender->erased) {
    if (call.step == Step::crowd) settle_news(*contender, call.asked);
    return;
  }
  replied_to(contender, call, reply);
  if (!contender->erased && contender->flight == 0 && std::exchange(contender->hurry, false) &&
      !contender->held && session.up()) {
    look_at_queue(contender, Step::look);
  }
}

void ZooKeeperBackend::replied_to(const ContenderPtr& contender, const Call& call,
                                  const Reply& reply) {
  switch (call.step) {
    case Step::create: return created(contender, reply);
    case Step::parent:
      if (reply.code == Code::unsupported) contender->session->no_containers();
      // Whether it matters is seen from the node's own creation: perhaps it was there already.
      // (And one level above it may have gone for its emptiness in between.)
      if (reply.code != Code::ok && reply.code != Code::exists && reply.code != Code::no_node &&
          !is_lost(reply.code) && reply.code != Code::unsupported && reply.code != Code::not_done) {
        contender->parent_failure = failure_of(reply, contender->path);
      }
      return drive(contender);
    case Step::queue:
    case Step::look:
    case Step::peek: return listed(contender, call, reply);
    case Step::name: return told_of_name(contender, reply);
    case Step::settle: return settled(contender, reply);
    case Step::settle_node: return settled_node(contender, call, reply);
    case Step::watch: return watching(contender, reply);
    case Step::recheck:
      if (reply.code == Code::no_node && contender->watching) predecessor_gone(contender);
      return drive(contender);
    case Step::own_check:
      if (reply.code == Code::no_node) return own_node_gone(contender);
      return drive(contender);
    case Step::confirm: return confirmed(contender, call, reply);
    case Step::holder: return told_of_holder(contender, call, reply);
    case Step::go_on: return went_on(contender, reply);
    case Step::gate:
      contender->gate_is_wanted =
          reply.code == Code::ok ? !reply.children->empty() : reply.code != Code::no_node;
      return drive(contender);
    case Step::crowd: return told_who_waits(contender, call, reply);
    case Step::remove: return removed(contender, reply);
    case Step::shelf:
    case Step::recall:
    case Step::kept:
    case Step::kept_watch:
    case Step::kept_again:
    case Step::begin:
    case Step::begin_new:
    case Step::begun:
    case Step::conclude:
    case Step::concluded: return replied_about_key(contender, call, reply);
    case Step::look_up_shelf:
    case Step::look_up:
    case Step::look_up_queue:
    case Step::look_up_gone:
    case Step::recognise:
    case Step::tidy_list:
    case Step::tidy_shelf:
    case Step::tidy_look:
    case Step::tidy_queue:
    case Step::own_watch:
    case Step::beat:
    case Step::beat_write:
    case Step::doubt:
    case Step::doubt_gone:
    case Step::inspect:
    case Step::inspect_head:
    case Step::check:
    case Step::check_parent:
    case Step::check_list:
    case Step::force_remove:
    case Step::gather:
    case Step::gather_queue:
    case Step::gather_name:
    case Step::ignore: return;
  }
}

void ZooKeeperBackend::created(const ContenderPtr& contender, const Reply& reply) {
  if (is_lost(reply.code)) {
    if (base::mutant("zookeeper.lost_create_forgotten")) forget_node(contender);
    return drive(contender);  // to be settled
  }
  contender->unsure = false;
  if (reply.code == Code::ok) {
    contender->node = reply.text;
    contender->number = reply.czxid;
  } else if (reply.code == Code::no_node && contender->parent_failure) {
    return fail(contender, contender->parent_failure);
  } else if (reply.code == Code::no_node) {
    // Never there, or empty for long enough to be removed; that may happen again before the next.
    contender->parents_missing = true;
  } else if (reply.code == Code::not_done) {
    if (contender->operation) contender->operation->trouble(failure_of(reply, contender->path));
    return;
  } else {
    return fail(contender, failure_of(reply, contender->path));
  }
  drive(contender);
}

void ZooKeeperBackend::listed(const ContenderPtr& contender, const Call& call, const Reply& reply) {
  switch (reply.code) {
    case Code::ok: break;
    case Code::no_node:
      contender->peeked = true;
      // With its parent the node has gone.
      if (call.step == Step::look && !contender->removing) forget_node(contender);
      return drive(contender);
    case Code::unknown:
    case Code::ended:
    case Code::not_done: return;  // once more with the next connection, or the next tick
    default: return fail(contender, failure_of(reply, contender->path));
  }
  // Whose queue that is was not told with it: once more, as above.
  const bool known = contender->name_node.empty() || contender->name_is_there;
  if (!known && !contender->leaving) return;
  if (call.step != Step::peek) {
    return contender->node.empty() ? drive(contender) : place(contender, *reply.children);
  }
  contender->peeked = true;
  if (contender->key) return peeked_at_key(contender, *reply.children);
  if (contender->mode == Mode::permit) return peeked_at_permits(contender, *reply.children);
  const Place place = Place::of(*reply.children, {});
  const bool shares =
      contender->mode == Mode::shared && place.head_is_shared && place.holders == place.count;
  if (place.count == 0 || shares || contender->leaving) return drive(contender);
  remember_holder(contender->path, place);
  leave_busy(contender, place);
}

void ZooKeeperBackend::settled(const ContenderPtr& contender, const Reply& reply) {
  if (reply.code != Code::ok && reply.code != Code::no_node) return;
  const std::string_view guid =
      base::mutant("zookeeper.settle_takes_any")
          ? std::string_view()
          : std::string_view(contender->prefix).substr(contender->path.size() + 1);
  const std::string_view found =
      reply.code == Code::ok ? find_prefix(*reply.children, guid) : std::string_view();
  if (found.empty()) {
    // Behind a sync: it never came to be, or is gone; or is still on its way.
    doubt(*contender);
    forget_node(contender);
    return drive(contender);
  }
  std::string node = child_of(contender->path, found);
  Call call{.step = Step::settle_node, .contender = contender, .path = node};
  if (contender->session->get(node, false, std::move(call))) ++contender->flight;
}

void ZooKeeperBackend::settled_node(const ContenderPtr& contender, const Call& call,
                                    const Reply& reply) {
  if (reply.code != Code::ok && reply.code != Code::no_node) return;
  const bool any = base::mutant("zookeeper.settle_takes_any");
  if (reply.code == Code::ok && (reply.owner == contender->session->id() || any)) {
    contender->unsure = false;
    contender->node = call.path;
    contender->number = contender->beside_number != 0 ? contender->beside_number : reply.czxid;
  } else {
    // It goes with a former session, or has gone: it is not to be built upon.
    forget_node(contender);
  }
  drive(contender);
}

void ZooKeeperBackend::watching(const ContenderPtr& contender, const Reply& reply) {
  if (reply.code == Code::no_node) return predecessor_gone(contender);
  if (reply.code == Code::denied) {
    return fail(contender, failure_of(reply, contender->predecessor));
  }
  if (reply.code != Code::ok) return;
  if (is_orphan(*contender, reply.owner)) {
    static_cast<void>(contender->session->remove(
        contender->predecessor, {.step = Step::doubt_gone, .path = contender->predecessor}));
  }
  // As it was made, and from now on we are told of a change before of its end. An owner by
  // Curator's read and write locks changes nothing as it goes on as a reader.
  const auto before = Standing::of(contender->predecessor);
  const bool tells = before && (before->ours || before->naming != Naming::read_write);
  if (tells && reply.version == 0) contender->event_grants = true;
  set(*contender, &Contender::watching, true);
  if (contender->is_gate) waits_at_gate(*contender);
  const bool holds = contender->predecessor == contender->head;
  if (holds) contender->head_told = true;
  if (contender->operation) {
    contender->operation->queued(
        contender->key ? runner_of(*contender)
        : holds        ? std::optional(holder_of(reply, contender->predecessor, contender->waiters))
                       : contender->operation->holder());
  }
  drive(contender);
}

void ZooKeeperBackend::told_of_holder(const ContenderPtr& contender, const Call& call,
                                      const Reply& reply) {
  std::optional<Holder> holder;
  if (reply.code == Code::ok) holder = holder_of(reply, call.path, call.count);
  if (call.path == contender->head) {
    contender->head_told = holder.has_value();
    if (reply.code == Code::no_node) contender->head.clear();  // not asked for before the next list
  }
  if (!contender->operation) return drive(contender);
  if (!contender->leaving || contender->wait) {
    if (holder) contender->operation->queued(holder);
  } else {
    then([operation = std::exchange(contender->operation, nullptr), holder] {
      operation->busy(holder);
    });
  }
  drive(contender);
}

void ZooKeeperBackend::confirmed(const ContenderPtr& contender, const Call& call,
                                 const Reply& reply) {
  // Of a node that is no more it says nothing of the present one.
  if (contender->leaving || contender->withdrawn || call.path != contender->node) {
    return drive(contender);
  }
  // Two of these may be on their way, by two looks at the queue: the first answer has granted.
  const bool granted = contender->held || contender->erased || !contender->operation;
  if (granted && !base::mutant("zookeeper.second_proof_grants_again")) return drive(contender);
  if (reply.code == Code::no_node) {
    forget_node(contender);
  } else if (reply.code == Code::other_version) {
    const Session& session = *contender->session;
    const Instant now = clock_->now();
    if (session.is_proven(now)) return grant(contender);
    // The leader has it that we live, but not yet since when.
    contender->again = now + session.report();
    next_look_ = std::min(next_look_, contender->again);
  }
  drive(contender);
}

void ZooKeeperBackend::removed(const ContenderPtr& contender, const Reply& reply) {
  contender->removing = false;
  switch (reply.code) {
    case Code::ok: return gone(contender, Released::released);
    case Code::no_node:
      // By the one before this, whose answer was lost; or by somebody else.
      return gone(contender, contender->remove_unsure ? Released::released : Released::was_lost);
    case Code::unknown:
    case Code::ended:
      if (base::mutant("zookeeper.delete_not_retried")) return gone(contender, Released::unknown);
      contender->remove_unsure = true;
      return;
    case Code::not_done: return;
    default: break;
  }
  // It stands as long as the session does, and would keep the name from everybody.
  Failure why = failure_of(reply, contender->node);
  why.text += "; without the permission delete the client ended its session, with all its holds";
  contender->session->give_up(undeletable(contender->node, reply));
  for (const auto& release : std::exchange(contender->releases, {})) {
    then([release, why] { release->failed(why); });
  }
  gone(contender, Released::unknown);
}

void ZooKeeperBackend::own_watched(const ContenderPtr& contender, const Reply& reply) {
  if (reply.code == Code::no_node) return own_node_gone(contender);
  if (reply.code != Code::ok) return set(*contender, &Contender::own_watch, false);
  if (!contender->held || reply.text != revoked || contender->label == revoked) return;
  then([this, hold = hold_id_of(*contender)] { host_->hold_wanted(hold); });
  // Who looks at it is to see who holds it, and the next one who asks is to be heard, too.
  static_cast<void>(contender->session->set(contender->node, contender->label, Call{}));
}

}  // namespace mortise::zookeeper
