// SPDX-License-Identifier: MIT
// "Which clients hold this name, and which wait for it?": lists in sync with the leader, all in one
// flight, then a look at the node of each.
#include "core/figures.hpp"
#include "zookeeper/lease_place.hpp"
#include "zookeeper/lock_path.hpp"
#include "zookeeper/questions.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>

namespace mortise::zookeeper {
namespace {

/// @return how long ago that was, by the clocks of this machine and of the leader, as far as they
/// agree.
std::optional<std::chrono::milliseconds> age_since(std::int64_t created) {
  const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::system_clock::now().time_since_epoch());
  const std::chrono::milliseconds age = now - std::chrono::milliseconds(created);
  return created > 0 && age.count() >= 0 ? std::optional(age) : std::nullopt;
}

class QueueQuestion final : public Question {
 public:
  QueueQuestion(Parts& parts, const std::shared_ptr<QueueLook>& operation)
      : Question(parts, operation), look_(*operation) {}

 protected:
  [[nodiscard]] bool begin() override {
    nodes_.clear();
    memo_ = {};
    switch (look_.mode()) {
      case Mode::permit: return begin_with_permits();
      case Mode::once: return begin_with_key();
      default: return begin_with_lock();
    }
  }

 private:
  enum class From : std::uint8_t {
    lock,     // the queue of a lock
    permits,  // the holders of permits
    waiters,  // waiters for a permit or a key, and the client that runs it
  };
  struct Node {
    std::string name{};
    std::string path{};
    From from = From::lock;
    bool is_there = false;
    Holder holder{};           // the client that made it
    std::int64_t created = 0;  // by the leader's clock, in milliseconds since 1970
  };

  bool begin_with_lock() {
    const std::string queue = lock_path(parts_.settings.root, look_.name());
    return compare_name(look_.name(), queue) &&
           ask_in_sync({Ask::list, queue}, [this, queue](const Reply& reply) {
             if (!is_found(reply, queue)) return;
             add_lock(queue, children_of(reply));
             look_at_each();
           });
  }
  bool begin_with_permits() {
    const GatePlace gate = GatePlace::of(parts_.settings.root, look_.name());
    const auto permits = [this, gate](const Reply& reply) {
      if (!is_found(reply, gate.leases)) return;
      Children held = permits_held(children_of(reply));
      if (held.size() > look_.limit()) held.resize(look_.limit());
      add(From::permits, gate.leases, held);
    };
    const auto waiters = [this, gate](const Reply& reply) {
      if (!is_found(reply, gate.locks)) return;
      add_waiters(gate.locks, children_of(reply));
      look_at_each();
    };
    return compare_name(look_.name(), gate.name) &&
           ask_in_sync({Ask::list, gate.leases}, permits) && ask({Ask::list, gate.locks}, waiters);
  }
  // The record comes first: the node that runs the key by that record is in the list, if it still
  // runs it.
  bool begin_with_key() {
    const KeyPlace place = KeyPlace::of(parts_.settings.root, look_.name());
    const auto read = [this, place](const Reply& reply) {
      if (!is_found(reply, place.kept) || reply.code != Code::ok) return;
      std::optional<Memo> memo = Memo::read(reply);
      if (!memo || !memo->is_of(look_.name())) {
        return fail(parts_.other_record(place.kept, memo.has_value()));
      }
      memo_ = *std::move(memo);
    };
    const auto listed = [this, place](const Reply& reply) {
      if (!is_found(reply, place.queue)) return;
      add_waiters(place.queue, marked(children_of(reply), place.mark));
      look_at_each();
    };
    return ask_in_sync({Ask::get, place.kept}, read) && ask({Ask::list, place.queue}, listed);
  }

  void add(From from, const std::string& where, const Children& children) {
    for (const std::string_view node : children) {
      nodes_.push_back({.name = std::string(node), .path = path_below(where, node), .from = from});
    }
  }
  // In order, as many holders and as many waiters as are asked for.
  void add_lock(const std::string& where, const Children& children) {
    std::vector<std::pair<Standing, std::string_view>> nodes;
    for (const std::string_view node : children) {
      if (const auto standing = Standing::of(node)) nodes.emplace_back(*standing, node);
    }
    std::sort(nodes.begin(), nodes.end(), [](const auto& left, const auto& right) {
      return left.first.is_before(right.first);
    });
    in_all_ = nodes.size();
    holders_ = holders_of(children).size();
    Children wanted;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const std::size_t before = i < holders_ ? i : i - holders_;
      if (before < look_.limit()) wanted.push_back(nodes[i].second);
    }
    add(From::lock, where, wanted);
  }
  // In order; first the one that runs the key.
  void add_waiters(const std::string& where, const Children& children) {
    const std::string_view runner =
        memo_.pending() ? find_prefix(children, memo_.kept.runner) : std::string_view();
    std::vector<std::pair<std::int64_t, std::string_view>> nodes;
    for (const std::string_view node : children) {
      const auto number = sequence_of(node);
      if (number) nodes.emplace_back(node == runner ? -1 : *number, node);
    }
    std::sort(nodes.begin(), nodes.end());
    in_all_ = nodes.size();
    holders_ = 0;
    Children wanted;
    for (const auto& [number, node] : nodes) {
      if (wanted.size() < look_.limit() + (runner.empty() ? 0 : 1)) wanted.push_back(node);
    }
    add(From::waiters, where, wanted);
  }

  void look_at_each() {
    awaited_ = nodes_.size();
    if (awaited_ == 0) return answer_queue();
    bool is_sent = true;
    for (Node& node : nodes_) {
      const auto looked = [this, &node](const Reply& reply) {
        if (!is_found(reply, node.name)) return;
        node.is_there = reply.code == Code::ok;
        if (node.is_there) node.holder = holder_of(reply, node.name, 0);
        node.created = reply.ctime;
        if (--awaited_ == 0) answer_queue();
      };
      is_sent = is_sent && ask({Ask::get, node.path}, looked);
    }
    require(is_sent);
  }

  // A node that has gone in the meantime is left out; the first of the other nodes have the lock.
  void answer_queue() {
    NameQueue queue;
    std::vector<HoldMark> marks;
    Children there;  // at the lock
    for (const Node& node : nodes_) {
      if (node.is_there && node.from == From::lock) there.push_back(node.name);
    }
    // If the client did not look at all nodes, those behind them are left out as well.
    const bool is_all = holders_ <= look_.limit();
    const std::size_t holders = is_all ? holders_of(there).size() : look_.limit();
    std::size_t left = in_all_;
    std::size_t holds = is_all ? holders : holders_;  // of these
    for (const Node& node : nodes_) {
      if (!node.is_there) {
        if (node.from != From::permits) --left;
        continue;
      }
      const std::optional<std::chrono::milliseconds> age = age_since(node.created);
      const bool runs = node.from == From::waiters && memo_.is_run_by(node.name);
      const bool has_lock = node.from == From::lock && queue.holders.size() < holders;
      if (runs || has_lock || node.from == From::permits) {
        const Token run(memo_.kept.record.number * core::tokens_in_a_grant);
        queue.holders.push_back({.label = node.holder.label,
                                 .mode = node.holder.mode,
                                 .token = runs ? run : node.holder.token,
                                 .age = runs ? age_since(memo_.written) : age});
        marks.push_back({.mark = node.path});
        if (runs) ++holds;
      } else if (queue.waiters.size() < look_.limit()) {
        queue.waiters.push_back({.label = node.holder.label, .mode = node.holder.mode, .age = age});
      }
    }
    queue.waiters_in_all = left - std::min(left, holds);
    complete([look = operation_as<QueueLook>(), queue = std::move(queue),
              marks = std::move(marks)] { look->answered(queue, marks); });
  }

  const QueueLook& look_;
  std::vector<Node> nodes_;
  std::size_t awaited_ = 0;  // replies
  std::size_t holders_ = 0;  // of the lock
  std::size_t in_all_ = 0;   // that stand at the lock, want the key, or wait for a permit
  Memo memo_{};              // of a key
};

}  // namespace

QuestionPtr question(Parts& parts, const std::shared_ptr<QueueLook>& operation) {
  return std::make_shared<QueueQuestion>(parts, operation);
}

}  // namespace mortise::zookeeper
