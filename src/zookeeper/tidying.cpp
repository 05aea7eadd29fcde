// SPDX-License-Identifier: MIT
#include "zookeeper/tidying.hpp"

#include "base/random_id.hpp"

#include <algorithm>

namespace mortise::zookeeper {
namespace {

// A run adds one key at most. So there are never more expired records than records to keep, and one
// for each shelf, which a run looks at first.
constexpr std::size_t records_in_a_look = 2;
constexpr int shelves_in_a_look = 8;  // while there is nothing on them

std::size_t drawn() { return base::SplitMix(base::random_bits()).next(); }

}  // namespace

void Tidying::step(Session& session) {
  if (under_way_ > 0) return;
  empty_shelves_ = 0;
  records_.empty() ? list_a_shelf(session) : look_at_records(session);
}

Calls::Answer Tidying::answer(std::function<void(const Reply&)> heed) {
  return [this, heed = std::move(heed)](const Reply& reply) {
    --under_way_;
    heed(reply);
  };
}

void Tidying::list_a_shelf(Session& session) {
  if (shelf_.empty()) next_ = drawn();  // other clients begin elsewhere
  shelf_ = shelf_path(parts_.settings.root, next_++);
  count(session.ask({Ask::list, shelf_},
                    answer([this, &session](const Reply& reply) { listed(session, reply); })));
}

void Tidying::listed(Session& session, const Reply& reply) {
  const bool is_there = reply.code == Code::ok;
  if (!is_there && reply.code != Code::no_node) return;
  if (is_there) {
    for (const std::string_view child : *reply.children) {
      records_.push_back(path_below(shelf_, child));
    }
  }
  if (records_.empty()) {
    if (++empty_shelves_ < shelves_in_a_look) list_a_shelf(session);
    return;
  }
  const auto first = static_cast<std::ptrdiff_t>(drawn() % records_.size());
  std::rotate(records_.begin(), records_.begin() + first, records_.end());
  look_at_records(session);
}

void Tidying::look_at_records(Session& session) {
  count(session.ask({Ask::exists, shelf_}, answer([this](const Reply& reply) {
                      expired_.clear();
                      removals_ =
                          reply.code == Code::ok ? std::optional(reply.version) : std::nullopt;
                    })));
  for (std::size_t i = 0; i < records_in_a_look && !records_.empty(); ++i) {
    const std::string record = std::move(records_.back());
    records_.pop_back();
    count(session.ask({Ask::get, record}, answer([this, &session, record](const Reply& reply) {
                        looked(session, record, reply);
                      })));
  }
  // Behind those: the node that runs one of the keys is in the list, if it still runs it.
  count(session.ask({Ask::list, queue_beside(parts_.settings.root, shelf_)},
                    answer([this, &session](const Reply& reply) {
                      const bool is_there = reply.code == Code::ok;
                      if (!is_there && reply.code != Code::no_node) return;
                      remove_expired(session, is_there ? *reply.children : Children());
                    })));
}

void Tidying::looked(const Session& session, const std::string& record, const Reply& reply) {
  if (reply.code != Code::ok) return;
  if (std::optional<Memo> memo = Memo::read(reply);
      memo && memo->is_over(session.leaders_clock().time(parts_.now()))) {
    expired_.emplace_back(record, *std::move(memo));
  }
}

void Tidying::remove_expired(Session& session, const Children& queue) {
  std::erase_if(expired_, [&](const auto& each) {
    const Memo& memo = each.second;
    return memo.pending() && !find_prefix(queue, memo.kept.runner).empty();
  });
  if (expired_.empty() || !removals_) return;
  std::vector<Request> writes{{.kind = Ask::set, .path = shelf_, .version = *removals_}};
  for (const auto& [path, memo] : std::exchange(expired_, {})) {
    writes.push_back({.kind = Ask::remove, .path = path, .version = memo.version});
  }
  session.ask(Request::all(std::move(writes)), {});
}

}  // namespace mortise::zookeeper
