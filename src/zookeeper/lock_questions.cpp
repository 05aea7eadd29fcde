// SPDX-License-Identifier: MIT
// Questions about locks: which client has one, whether locks can be taken, the end of a hold of
// another client.
#include "base/random_id.hpp"
#include "remote/outbox.hpp"
#include "zookeeper/lock_path.hpp"
#include "zookeeper/questions.hpp"

#include <optional>

namespace mortise::zookeeper {
namespace {

/// The nodes above may be removed between their making and their use, because they are empty.
constexpr int most_checks = 3;  // again

/// With `acl=creator` each user has a name of its own: the nodes that one user made there are
/// closed to the others until the servers have removed them.
std::string probed_name(const Settings& settings) {
  std::string name(remote::probed_name);
  const std::string& user = settings.credentials.user;
  return settings.creator_only && !user.empty() ? name + '-' + user : name;
}

/// The first node of the queue.
class HolderQuestion final : public Question {
 public:
  HolderQuestion(Parts& parts, const std::shared_ptr<Inspection>& operation)
      : Question(parts, operation), queue_(lock_path(parts.settings.root, operation->name())) {}

 protected:
  [[nodiscard]] bool begin() override {
    return compare_name(operation_as<Inspection>()->name(), queue_) &&
           ask_in_sync({Ask::list, queue_}, [this](const Reply& reply) { listed(reply); });
  }

 private:
  void listed(const Reply& reply) {
    if (!is_found(reply, queue_)) return;
    const auto inspection = operation_as<Inspection>();
    const Place place = Place::of(children_of(reply), {});
    if (place.count == 0) return complete([inspection] { inspection->answered(std::nullopt); });
    const std::string head = path_below(queue_, place.head);
    const auto looked = [this, head, waiters = place.waiters()](const Reply& node) {
      if (!is_found(node, head)) return;
      // If it has gone, another node is the first one by now.
      if (node.code == Code::no_node) return require(start());
      complete([inspection = operation_as<Inspection>(), holder = holder_of(node, head, waiters)] {
        inspection->answered(holder);
      });
    };
    require(ask({Ask::get, head}, looked));
  }

  const std::string queue_;
};

/// Does what a lock does, at a name that no client locks: makes the nodes above, lists the queue,
/// and makes a node that goes again in the same transaction. The leader commits that transaction,
/// which proves more than any answer of the client's own server.
class CheckQuestion final : public Question {
 public:
  CheckQuestion(Parts& parts, const std::shared_ptr<Check>& operation)
      : Question(parts, operation),
        queue_(lock_path(parts.settings.root, probed_name(parts.settings))) {}

 protected:
  [[nodiscard]] bool begin() override {
    refusal_ = {};
    for (const std::string& level : levels_of(queue_)) {
      const auto made = [this, level](const Reply& reply) { made_parent(level, reply); };
      if (!ask({Ask::create_container, level}, made)) return false;
    }
    const auto listed = [this](const Reply& reply) { static_cast<void>(is_found(reply, queue_)); };
    if (!ask_in_sync({Ask::list, queue_}, listed)) return false;
    const std::string node = path_below(queue_, hexadecimal(base::random_bits()) + "-check");
    const auto made = [this](const Reply& reply) { made_node(reply); };
    return ask(Request::all({{Ask::create_own, node}, {Ask::remove, node}}), made);
  }

 private:
  // The node below it shows whether that matters: perhaps the node above was there already.
  void made_parent(const std::string& level, const Reply& reply) {
    switch (reply.code) {
      case Code::ok:
      case Code::exists:
      case Code::no_node:
      case Code::unsupported: return;
      default: refusal_ = parts_.failure_of(reply, level);
    }
  }
  void made_node(const Reply& reply) {
    const bool is_parent_missing = reply.code == Code::no_node;
    if (is_parent_missing && refusal_) return fail(refusal_);
    if (is_parent_missing && tries_++ < most_checks) return require(start());
    if (reply.code != Code::ok) return fail(parts_.failure_of(reply, queue_));
    const auto check = operation_as<Check>();
    if (std::optional<Failure> why = parts_.too_short(check->lease(), session())) {
      return fail(*std::move(why));
    }
    complete([check] { check->answered(); });
  }

  const std::string queue_;
  Failure refusal_{};  // why a node above it could not be made
  int tries_ = 0;
};

/// Removes exactly the node of that hold. So a repeated removal finds no other hold.
class ForcedRelease final : public Question {
 public:
  using Question::Question;

  [[nodiscard]] remote::Purpose purpose() const noexcept override {
    return remote::Purpose::release;
  }

 protected:
  [[nodiscard]] bool begin() override {
    const std::string& node = operation_as<Release>()->found()->mark;
    return ask({Ask::remove, node}, [this, &node](const Reply& reply) {
      if (!is_found(reply, node)) return;
      const Released outcome = reply.code == Code::ok ? Released::released : if_over_;
      complete([release = operation_as<Release>(), outcome] { release->answered(outcome); });
    });
  }
  void lose() override { if_over_ = Released::unknown; }

 private:
  Released if_over_ = Released::was_lost;
};

}  // namespace

QuestionPtr question(Parts& parts, const std::shared_ptr<Inspection>& operation) {
  return std::make_shared<HolderQuestion>(parts, operation);
}

QuestionPtr question(Parts& parts, const std::shared_ptr<Check>& operation) {
  return std::make_shared<CheckQuestion>(parts, operation);
}

QuestionPtr question(Parts& parts, const std::shared_ptr<Release>& operation) {
  return std::make_shared<ForcedRelease>(parts, operation);
}

}  // namespace mortise::zookeeper
