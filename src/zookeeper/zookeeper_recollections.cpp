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

// A run adds one key at most: so of those who are over there are never more than of those who are
// to be kept, and one for each shelf, which a run looks at first.
constexpr std::size_t keys_in_a_look = 2;
constexpr int shelves_in_a_look = 8;  // while there is nothing on them

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
  ask_for_time(session, call.precisely);
  if (static_cast<const Recollection&>(*call.operation).kind() == Recollection::Kind::forget) {
    Call shelf = call;
    shelf.step = Step::look_up_shelf;
    static_cast<void>(session.exists(shelf_of(call.path), std::move(shelf)));
  }
  if (!session.get_in_sync(call.path, call)) return false;
  // Behind it: whoever runs by what is kept is in the list.
  Call list = call;
  list.step = Step::look_up_queue;
  static_cast<void>(
      session.list(queue_beside(settings_.root, shelf_of(call.path)), std::move(list)));
  return true;
}

std::string ZooKeeperBackend::shelf_of(const std::string& kept) {
  return kept.substr(0, kept.rfind('/'));
}

Failure ZooKeeperBackend::not_of_that_key(const std::string& node, bool is_record) const {
  return {Errc::protocol, where_ + ": " + node +
                              (is_record ? ": this record belongs to another key"
                                         : ": this node is not a record of Mortise")};
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
      if (!read || !read->is_of(operation->key())) {
        then([operation, why = not_of_that_key(call.path, read.has_value())] {
          operation->failed(why);
        });
        return;
      }
      const std::int32_t removals = memo.removals;
      memo = *std::move(read);
      memo.removals = removals;
    }
    if (!call.precisely && memo.may_be_over(session.leaders_time(clock_->now()))) {
      memo = Memo();  // so that the list behind it says nothing
      return submit({.step = Step::look_up,
                     .operation = operation,
                     .path = call.path,
                     .memo = std::make_shared<Memo>(),
                     .precisely = true});
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
  std::vector<Write> writes{removal_from(shelf_of(call.path), memo.removals)};
  writes.push_back({.kind = Write::Kind::remove, .path = call.path, .version = memo.version});
  if (!session.write(std::move(writes), std::move(removal))) look_up(operation);
}

// As it was found, or not at all: whoever has begun since has written. Nor does it find what was
// removed since then, and is there anew.
Write ZooKeeperBackend::removal_from(const std::string& shelf, std::int32_t removals) {
  return {.kind = Write::Kind::set, .path = shelf, .version = removals};
}

void ZooKeeperBackend::answer(const std::shared_ptr<Recollection>& operation, const Memo& memo,
                              bool held, const Session& session) {
  auto record =
      std::make_shared<const Record>(memo.record(held, session.leaders_time(clock_->now())));
  then([operation, record = std::move(record)] { operation->answered(record); });
}

// A step at a time, behind what a run sends anyhow: a list of what is on a shelf, or a look at some
// of that, of which what is over goes.
void ZooKeeperBackend::tidy(Session& session) {
  if (tidying_.flight > 0) return;
  tidying_.empty_shelves = 0;
  tidying_.keys.empty() ? list_a_shelf(session) : look_at_keys(session);
}

void ZooKeeperBackend::send_tidying(bool sent) {
  if (sent) ++tidying_.flight;
}

void ZooKeeperBackend::list_a_shelf(Session& session) {
  // Others begin elsewhere.
  if (tidying_.shelf.empty()) tidying_.next = base::SplitMix(base::random_bits()).next();
  tidying_.shelf = shelf_path(settings_.root, tidying_.next++);
  send_tidying(session.list(tidying_.shelf, {.step = Step::tidy_list, .path = tidying_.shelf}));
}

void ZooKeeperBackend::look_at_keys(Session& session) {
  send_tidying(session.exists(tidying_.shelf, {.step = Step::tidy_shelf}));
  for (std::size_t i = 0; i < keys_in_a_look && !tidying_.keys.empty(); ++i) {
    const std::string key = std::move(tidying_.keys.back());
    tidying_.keys.pop_back();
    send_tidying(session.get(key, false, {.step = Step::tidy_look, .path = key}));
  }
  // Behind those: the node of whoever runs one of them is in the list, if it is anywhere.
  send_tidying(session.list(queue_beside(settings_.root, tidying_.shelf),
                            {.step = Step::tidy_queue, .path = tidying_.shelf}));
}

void ZooKeeperBackend::tidied(Session& session, const Call& call, const Reply& reply) {
  if (tidying_.flight > 0) --tidying_.flight;
  const bool there = reply.code == Code::ok;
  switch (call.step) {
    case Step::tidy_list:
      if (there) {
        for (const std::string_view child : *reply.children) {
          tidying_.keys.push_back(call.path + '/' + std::string(child));
        }
      }
      if (!tidying_.keys.empty()) {
        const std::size_t first = base::SplitMix(base::random_bits()).next() % tidying_.keys.size();
        std::rotate(tidying_.keys.begin(),
                    tidying_.keys.begin() + static_cast<std::ptrdiff_t>(first),
                    tidying_.keys.end());
        look_at_keys(session);
      } else if (there || reply.code == Code::no_node) {
        if (++tidying_.empty_shelves < shelves_in_a_look) list_a_shelf(session);
      }
      return;
    case Step::tidy_shelf:
      tidying_.over.clear();
      tidying_.removals = there ? std::optional(reply.version) : std::nullopt;
      return;
    case Step::tidy_look:
      if (!there) return;
      if (std::optional<Memo> memo = Memo::read(reply);
          memo && memo->is_over(session.leaders_time(clock_->now()))) {
        tidying_.over.emplace_back(call.path, *std::move(memo));
      }
      return;
    default:
      if (there || reply.code == Code::no_node) {
        tidy_away(session, there ? *reply.children : Children());
      }
  }
}

void ZooKeeperBackend::tidy_away(Session& session, const Children& queue) {
  std::erase_if(tidying_.over, [&](const auto& each) {
    const Memo& memo = each.second;
    return memo.pending() && !find_prefix(queue, memo.kept.runner).empty();
  });
  if (tidying_.over.empty() || !tidying_.removals) return;
  std::vector<Write> writes{removal_from(tidying_.shelf, *tidying_.removals)};
  for (const auto& [path, memo] : std::exchange(tidying_.over, {})) {
    writes.push_back({.kind = Write::Kind::remove, .path = path, .version = memo.version});
  }
  static_cast<void>(session.write(std::move(writes), Call{}));
}

}  // namespace mortise::zookeeper
