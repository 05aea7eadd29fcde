// SPDX-License-Identifier: MIT
// How a run of a key ends: its outcome is kept, and its node goes, in one transaction. It fails
// where the node is gone, with the session for example, and where somebody else has begun since.
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
          .label = std::string(label)};
}

bool wrote(const Memo& memo, const HoldId& hold) {
  return memo.there && !memo.pending() && memo.kept.record.number == hold.number &&
         memo.kept.attempt == hold.attempt.text();
}

}  // namespace

void ZooKeeperBackend::conclude(const ContenderPtr& contender) {
  if (contender->removing) return;
  const KeyTurn& key = *contender->key;
  const HoldId hold{.attempt = contender->attempt,
                    .number = static_cast<std::uint64_t>(contender->number)};
  std::vector<Write> writes{{.kind = Write::Kind::set,
                             .path = key.place.kept,
                             .data = kept_of(hold, *key.conclusion, contender->label).bytes(),
                             .version = key.version}};
  writes.push_back({.kind = Write::Kind::remove, .path = contender->node});
  if (!contender->session->write(std::move(writes),
                                 {.step = Step::conclude, .contender = contender})) {
    return;
  }
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
  const HoldId hold{.attempt = contender->attempt,
                    .number = static_cast<std::uint64_t>(contender->number)};
  Released outcome = contender->remove_unsure ? Released::unknown : Released::was_lost;
  if (wrote(memo, hold) && !base::mutant("zookeeper.writer_is_not_remembered")) {
    outcome = Released::released;
  } else if (memo.pending() && memo.version == contender->key->version) {
    outcome = Released::was_lost;  // as it was when it began
  }
  for (const auto& release : std::exchange(contender->releases, {})) {
    then([release, outcome] { release->answered(outcome); });
  }
  without_conclusion(contender);
}

// Its node may be there still.
void ZooKeeperBackend::without_conclusion(const ContenderPtr& contender) {
  contender->key->conclusion = nullptr;
  contender->removing = false;
  drive(contender);
}

void ZooKeeperBackend::recognise(const std::shared_ptr<Release>& operation) {
  if (base::mutant("zookeeper.record_after_the_loss")) {
    const HoldId& hold = operation->hold();
    std::vector<Write> writes{{.kind = Write::Kind::set,
                               .path = KeyPlace::of(settings_.root, hold.name).kept,
                               .data = kept_of(hold, *operation->conclusion(), {}).bytes()}};
    static_cast<void>(sessions_.front()->write(std::move(writes), Call{}));
  }
  submit({.step = Step::recognise,
          .operation = operation,
          .path = KeyPlace::of(settings_.root, operation->hold().name).kept});
}

void ZooKeeperBackend::recognised(const std::shared_ptr<Release>& operation, const Reply& reply) {
  const Memo memo = reply.code == Code::ok ? Memo::read(reply).value_or(Memo()) : Memo();
  const bool ours =
      wrote(memo, operation->hold()) && !base::mutant("zookeeper.writer_is_not_remembered");
  then([operation, ours] { operation->answered(ours ? Released::released : Released::was_lost); });
}

}  // namespace mortise::zookeeper
