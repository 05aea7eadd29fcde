// SPDX-License-Identifier: MIT
// What is kept of keys, for those who only look, or want it forgotten; and what is kept for too
// long, which those who begin runs remove, a little each.
#include "base/mutant.hpp"
#include "base/random_id.hpp"
#include "zookeeper/zookeeper_backend.hpp"

#include <algorithm>
#include <utility>

namespace mortise::zookeeper {
namespace {

// A run adds one at most: so there are never more than twice as many as are to be kept.
constexpr std::size_t keys_in_a_look = 2;

}  // namespace

void ZooKeeperBackend::recall(const std::shared_ptr<Recollection>& operation) {
  const CompletionScope scope(*this);
  if (open(operation)) look_up(operation);
}

void ZooKeeperBackend::look_up(const std::shared_ptr<Recollection>& operation) {
  submit({.step = Step::look_up,
          .operation = operation,
          .path = KeyPlace::of(settings_.root, operation->key()).kept,
          .memo = std::make_shared<Memo>()});
}

// @return false: there is no connection
bool ZooKeeperBackend::send_look(Session& session, const Call& call) {
  if (call.step != Step::look_up) return session.get_in_sync(call.path, call);
  ask_for_time(session);
  if (!session.get_in_sync(call.path, call)) return false;
  // Behind it: whoever runs by what is kept is in the list.
  Call list = call;
  list.step = Step::look_up_queue;
  static_cast<void>(session.list(queue_of(call.path), std::move(list)));
  return true;
}

std::string ZooKeeperBackend::queue_of(const std::string& kept) const {
  return queue_beside(settings_.root, std::string_view(kept).substr(0, kept.rfind('/')));
}

// Its answer came, or that there is none.
void ZooKeeperBackend::looked_up(Session& session, const Call& call, const Reply& reply) {
  const auto operation = std::static_pointer_cast<Recollection>(call.operation);
  Memo& memo = *call.memo;
  if (call.step == Step::look_up_gone) {
    if (reply.code == Code::other_version) return look_up(operation);
    return answer(operation, memo, false, session);
  }
  if (call.step == Step::look_up) {
    if (reply.code == Code::ok) {
      std::optional<Memo> read = Memo::read(reply);
      if (!read) {
        then([operation, why = Failure(Errc::protocol,
                                       where_ + ": " + call.path + ": this is no record of ours")] {
          operation->failed(why);
        });
        return;
      }
      memo = *std::move(read);
    }
    if (memo.pending()) return;  // the list tells more
  }
  const bool held = memo.pending() && reply.code == Code::ok &&
                    !find_prefix(*reply.children, memo.kept.runner).empty();
  const bool goes = operation->kind() == Recollection::Kind::forget && memo.there &&
                    (!held || base::mutant("zookeeper.forgets_a_pending_key"));
  if (!goes) return answer(operation, memo, held, session);
  Call removal = call;
  removal.step = Step::look_up_gone;
  std::vector<Write> writes{
      {.kind = Write::Kind::remove, .path = call.path, .version = memo.version}};
  if (!session.write(std::move(writes), std::move(removal))) look_up(operation);
}

void ZooKeeperBackend::answer(const std::shared_ptr<Recollection>& operation, const Memo& memo,
                              bool held, const Session& session) {
  auto record =
      std::make_shared<const Record>(memo.record(held, session.leaders_time(clock_->now())));
  then([operation, record = std::move(record)] { operation->answered(record); });
}

void ZooKeeperBackend::tidy(Session& session) {
  if (tidying_.flight > 0) return;
  const auto look = [this](bool sent) {
    if (sent) ++tidying_.flight;
  };
  if (tidying_.keys.empty() && tidying_.parents.empty()) {
    const std::string all = kept_path(settings_.root);
    return look(session.list(all, {.step = Step::tidy_parents, .path = all}));
  }
  if (tidying_.keys.empty()) {
    const std::string parent = std::move(tidying_.parents.back());
    tidying_.parents.pop_back();
    return look(session.list(parent, {.step = Step::tidy_kept, .path = parent}));
  }
  for (std::size_t i = 0; i < keys_in_a_look && !tidying_.keys.empty(); ++i) {
    const std::string key = std::move(tidying_.keys.back());
    tidying_.keys.pop_back();
    look(session.get(key, false, {.step = Step::tidy_look, .path = key}));
  }
}

void ZooKeeperBackend::tidied(Session& session, const Call& call, const Reply& reply) {
  if (tidying_.flight > 0) --tidying_.flight;
  if (reply.code != Code::ok) return;
  const auto children = [&] {
    std::vector<std::string> out;
    for (const std::string_view child : *reply.children) {
      out.push_back(call.path + '/' + std::string(child));
    }
    // Others begin elsewhere.
    if (!out.empty()) {
      const std::size_t first = base::SplitMix(base::random_bits()).next() % out.size();
      std::rotate(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(first), out.end());
    }
    return out;
  };
  if (call.step == Step::tidy_parents) {
    tidying_.parents = children();
  } else if (call.step == Step::tidy_kept) {
    tidying_.keys = children();
  } else if (call.step == Step::tidy_look) {
    const std::optional<Memo> memo = Memo::read(reply);
    if (!memo || !memo->is_over(session.leaders_time(clock_->now()))) return;
    if (!memo->pending()) return tidy_away(session, call.path, *memo);
    // Behind that: its runner's node is in the list, if it is anywhere.
    if (session.list(
            queue_of(call.path),
            {.step = Step::tidy_queue, .path = call.path, .memo = std::make_shared<Memo>(*memo)})) {
      ++tidying_.flight;
    }
  } else if (find_prefix(*reply.children, call.memo->kept.runner).empty()) {
    tidy_away(session, call.path, *call.memo);
  }
}

// As it was found, or not at all: whoever has begun since has written.
void ZooKeeperBackend::tidy_away(Session& session, const std::string& path, const Memo& memo) {
  std::vector<Write> writes{{.kind = Write::Kind::remove, .path = path, .version = memo.version}};
  static_cast<void>(session.write(std::move(writes), Call{}));
}

}  // namespace mortise::zookeeper
