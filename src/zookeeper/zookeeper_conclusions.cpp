// SPDX-License-Identifier: MIT
// How a run of a key ends: its outcome is kept, and its node goes, in one transaction. It fails
// where the node is gone, with the session for example, and where somebody else has begun since.
// What is kept names who wrote it, so that who hears no answer finds its own.
#include "base/mutant.hpp"
#include "zookeeper/zookeeper_backend.hpp"

#include <utility>

namespace mortise::zookeeper {
namespace {

Kept kept_of(const HoldId& hold, const Conclusion& conclusion, std::string_view label) {
  return {.record = {.state = conclusion.state,
                     .bytes = conclusion.bytes,
                     .run = conclusion.run,
                     .number = hold.number,
                     .fingerprint = conclusion.memory->fingerprint},
          .keep = conclusion.memory->keep,
          .attempt = hold.attempt.text(),
          .label = std::string(label),
          .name = std::string(name_to_keep(hold.name))};
}

bool wrote(const Memo& memo, const HoldId& hold) {
  return memo.there && !memo.pending() && memo.is_of(hold.name) &&
         memo.kept.record.number == hold.number && memo.kept.attempt == hold.attempt.text() &&
         !base::mutant("zookeeper.writer_is_not_remembered");
}

/// @return whether it is as it was when that run began: so nothing was recorded of it.
bool is_as_begun(const Memo& memo, const HoldId& hold) {
  return memo.pending() && memo.kept.record.number == hold.number;
}

// A server that takes no packet as long as this one hangs up on whoever sends it, and on all else
// that its session holds. So it is not said for ever.
constexpr int most_sayings = 3;
constexpr int parts_of_saying = 3;  // of a session

}  // namespace

void ZooKeeperBackend::conclude(const ContenderPtr& contender) {
  if (contender->removing) return;
  KeyTurn& key = *contender->key;
  const Instant now = clock_->now();
  if (key.sayings == 0) key.said_first = now;
  if (key.sayings >= most_sayings &&
      now - key.said_first >= contender->session->timeout() / parts_of_saying) {
    return give_up_saying(contender);
  }
  const HoldId hold = hold_id_of(*contender);
  std::vector<Write> writes{{.kind = Write::Kind::set,
                             .path = key.place.kept,
                             .data = kept_of(hold, *key.conclusion, contender->label).bytes(),
                             .version = key.version}};
  if (base::mutant("zookeeper.record_after_the_loss")) {
    // Whether it has it still or not.
    static_cast<void>(contender->session->remove(contender->node, Call{}));
    writes.front().version = Write::any_version;
  } else {
    writes.push_back({.kind = Write::Kind::remove, .path = contender->node});
  }
  if (!contender->session->write(std::move(writes),
                                 {.step = Step::conclude, .contender = contender})) {
    return;
  }
  ++key.sayings;
  contender->removing = true;
  ++contender->flight;
}

void ZooKeeperBackend::concluded(const ContenderPtr& contender, const Reply& reply) {
  switch (reply.code) {
    case Code::ok: return gone(contender, Released::released);
    case Code::unknown:
    case Code::ended:
      contender->removing = false;
      contender->remove_unsure = true;
      return;
    case Code::not_done: contender->removing = false; return;
    case Code::no_node:
    case Code::other_version:
      // By the one before this, whose answer was lost; or by nobody, and never.
      if (contender->session->get_in_sync(contender->key->place.kept,
                                          {.step = Step::concluded, .contender = contender})) {
        ++contender->flight;
      } else {
        contender->removing = false;
      }
      return;
    default: break;
  }
  const Failure why = failure_of(reply, contender->key->place.kept);
  for (const auto& release : std::exchange(contender->releases, {})) {
    then([release, why] { release->failed(why); });
  }
  without_conclusion(contender);
}

void ZooKeeperBackend::found_concluded(const ContenderPtr& contender, const Reply& reply) {
  if (reply.code != Code::ok && reply.code != Code::no_node) {
    contender->removing = false;
    return drive(contender);
  }
  const Memo memo = reply.code == Code::ok ? Memo::read(reply).value_or(Memo()) : Memo();
  const HoldId hold = hold_id_of(*contender);
  const bool ours = wrote(memo, hold);
  // As it was when it began: nothing was written, and without its node nothing will be.
  const bool sure = ours || !contender->remove_unsure || is_as_begun(memo, hold);
  for (const auto& release : std::exchange(contender->releases, {})) {
    if (!sure) {
      in_doubt(release);
      continue;
    }
    then([release, ours] { release->answered(ours ? Released::released : Released::was_lost); });
  }
  without_conclusion(contender);
}

// Its node may be there still.
void ZooKeeperBackend::without_conclusion(const ContenderPtr& contender) {
  contender->key->conclusion = nullptr;
  contender->removing = false;
  drive(contender);
}

// It was sent, and what is kept by now is neither that nor what was there before.
void ZooKeeperBackend::in_doubt(const std::shared_ptr<Release>& operation) {
  then([operation,
        why = Failure(Errc::in_doubt, where_ + ": " + operation->hold().name +
                                          ": the outcome was not recorded, or it was replaced "
                                          "or forgotten since")] { operation->failed(why); });
}

// With its node that goes which lets it be written at all.
void ZooKeeperBackend::give_up_saying(const ContenderPtr& contender) {
  const KeyTurn& key = *contender->key;
  const Failure why{Errc::in_doubt, where_ + ": " + contender->name + ": the connection broke " +
                                        std::to_string(key.sayings) +
                                        " times while it sent an outcome of " +
                                        std::to_string(key.conclusion->bytes.size()) +
                                        " bytes; jute.maxbuffer of the servers may be too small"};
  for (const auto& release : std::exchange(contender->releases, {})) {
    then([release, why] { release->failed(why); });
  }
  without_conclusion(contender);
}

/// @param unsure whether it was sent before
/// @param may_come whether that may be carried out later than this look
void ZooKeeperBackend::recognise(const std::shared_ptr<Release>& operation, bool unsure,
                                 bool may_come) {
  submit({.step = Step::recognise,
          .operation = operation,
          .path = KeyPlace::of(settings_.root, operation->hold().name).kept,
          .unsure = unsure,
          .may_come = may_come});
}

void ZooKeeperBackend::recognised(const Call& call, const Reply& reply) {
  const auto operation = std::static_pointer_cast<Release>(call.operation);
  const Memo memo = reply.code == Code::ok ? Memo::read(reply).value_or(Memo()) : Memo();
  const bool ours = wrote(memo, operation->hold());
  const bool sure = !call.unsure || (!call.may_come && is_as_begun(memo, operation->hold()));
  if (!ours && !sure) return in_doubt(operation);
  then([operation, ours] { operation->answered(ours ? Released::released : Released::was_lost); });
}

}  // namespace mortise::zookeeper
