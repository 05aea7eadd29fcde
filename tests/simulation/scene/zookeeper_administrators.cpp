// SPDX-License-Identifier: MIT
#include "simulation/scene/zookeeper_administrators.hpp"

#include <mortise/zookeeper.hpp>

#include "simulation/scene/bounds.hpp"
#include "simulation/zookeeper/jute.hpp"
#include "simulation/zookeeper/numbers.hpp"
#include "support/force.hpp"
#include "zookeeper/lock_path.hpp"
#include "zookeeper/queue.hpp"

#include <chrono>
#include <utility>

namespace simulation {

std::string ZooKeeperAdministrators::take(const std::string& url, std::size_t names,
                                          Random& random) {
  std::size_t which = random.below(names);
  // Those who read together are to end together.
  for (std::size_t i = 0; i < names && random.chance(0.8); ++i) {
    const std::string queue = mortise::zookeeper::lock_path("/locks", lock_name(i));
    if (holders_with(queue).size() > 1) which = i;
  }
  const std::string name = lock_name(which);
  luck_ = Random(random.next());
  const double loses = random.chance(0.7) ? 0.7 : 0;
  const bool two = random.chance(0.3);
  begin(url, name, loses);
  if (two) begin(url, name, loses);
  return (two ? "two administrators take " : "an administrator takes ") + name +
         (loses > 0 ? ", and answers are lost" : "");
}

void ZooKeeperAdministrators::begin(const std::string& url, const std::string& name, double loses) {
  Process& administrator = room_.world.process("administrator");
  OneShot& one_shot = one_shots_[&administrator];
  one_shot.loses = loses;
  wire_.listen(administrator,
               [this, &one_shot](Connection& from, std::int32_t type, std::string_view body) {
                 if (type == zookeeper::op::remove)
                   asked(one_shot, zookeeper::In(body).text(), from);
               });
  room_.world.spawn(administrator, [this, url, name] {
    const std::set<std::string> held = holders_with(mortise::zookeeper::lock_path("/locks", name));
    try {
      const auto ended =
          mortise::test::force_release(mortise::zookeeper::backend(url), name, patience);
      if (!ended.empty()) look_at_rest(held);
    } catch (const mortise::Error&) {
      // Its own connection suffers like everybody's.
    }
  });
}

void ZooKeeperAdministrators::asked(OneShot& one_shot, std::string_view path, Connection& from) {
  look_at_removal(one_shot, std::string(path));
  if (luck_.chance(one_shot.loses)) lose_answer(from);
}

// @return who has the lock now.
std::set<std::string> ZooKeeperAdministrators::holders_with(const std::string& queue) const {
  std::set<std::string> paths;
  const zookeeper::Node* const node = ensemble->committed().find(queue);
  if (node == nullptr) return paths;
  const mortise::zookeeper::Children children(node->children.begin(), node->children.end());
  for (const std::string_view each : mortise::zookeeper::holders_of(children)) {
    paths.insert(queue + "/" + std::string(each));
  }
  return paths;
}

// S3: a call removes the node of whoever had the lock, or those of all who read then; and removes
// each again where it does not know what has come of that. What has gone by then is no matter.
void ZooKeeperAdministrators::look_at_removal(OneShot& one_shot, const std::string& path) const {
  std::set<std::string>& ends = one_shot.ends;
  if (ends.empty()) {
    one_shot.removed = path;
    ends = holders_with(path.substr(0, path.rfind('/')));
    ends.insert(path);
  }
  if (one_shot.told.insert(path).second) removes(path);
  if (ends.contains(path) || ensemble->committed().find(path) == nullptr) return;
  judge->blame("S3",
               "a release by force that has removed " + one_shot.removed + " removes " + path);
}

// S4: whoever had the lock when it was asked for, and has it still, was to be ended with the
// others.
void ZooKeeperAdministrators::look_at_rest(const std::set<std::string>& held) const {
  for (const std::string& path : held) {
    if (ensemble->committed().find(path) == nullptr) continue;
    judge->blame("S4", "a release by force leaves a holder: " + path);
  }
}

bool ZooKeeperAdministrators::is_readers(std::string_view node) {
  const auto standing = mortise::zookeeper::Standing::of(node);
  return standing && standing->shared;
}

void ZooKeeperAdministrators::lose_answer(Connection& connection) {
  connection.stall(Connection::Way::down, never);
  room_.world.after(luck_.spread(shortest_loss, longest_loss), [this, id = connection.id()] {
    if (Connection* const lost = room_.network.find(id)) lost->cut(true);
  });
}

}  // namespace simulation
