// SPDX-License-Identifier: MIT
#include "support/zookeeper_locks.hpp"

#include "zookeeper/lock_path.hpp"
#include "zookeeper/queue.hpp"

#include <algorithm>
#include <map>

namespace mortise::test {
namespace {

/// Who waits for a permit, of whatever semaphore.
std::size_t at_gates(ZooKeeperTalk& talk, const std::string& semaphores) {
  std::size_t sum = 0;
  for (const std::string& each : talk.children(semaphores)) {
    sum += talk.children(semaphores + "/" + each + "/locks").size();
  }
  return sum;
}

}  // namespace

std::string ZooKeeperLocks::path(const std::string& name) const {
  return zookeeper::lock_path(root_, name);
}

std::vector<std::string> ZooKeeperLocks::queue(ZooKeeperTalk& talk, const std::string& name) const {
  const std::string parent = path(name);
  std::vector<std::string> out = talk.children(parent);
  std::sort(out.begin(), out.end(), [](const std::string& left, const std::string& right) {
    return sequence(left) < sequence(right);
  });
  for (std::string& node : out) node.insert(0, parent + "/");
  return out;
}

std::size_t ZooKeeperLocks::waiters(ZooKeeperTalk& talk) const {
  std::size_t sum = 0;
  bool has_keys = false;
  for (const std::string& name : talk.children(root_)) {
    if (name == "%permits") {
      sum += at_gates(talk, root_ + "/" + name);
      continue;
    }
    if (name == "%once") {
      has_keys = true;
      continue;
    }
    const std::vector<std::string> nodes = talk.children(root_ + "/" + name);
    sum += zookeeper::Place::of({nodes.begin(), nodes.end()}, {}).waiters();
  }
  if (!has_keys) return sum;
  std::map<std::string, std::size_t> keys;  // by what tells them apart in their queue
  const std::string queues = zookeeper::keys_path(root_) + "/queue";
  for (const std::string& parent : talk.children(queues)) {
    for (const std::string& node : talk.children(queues + "/" + parent)) {
      ++keys[node.substr(zookeeper::guid_size + 1, zookeeper::guid_size)];
    }
  }
  for (const auto& [key, nodes] : keys) sum += nodes - 1;
  return sum;
}

std::vector<std::string> ZooKeeperLocks::queue_of_key(ZooKeeperTalk& talk,
                                                      const std::string& key) const {
  const zookeeper::KeyPlace place = zookeeper::KeyPlace::of(root_, key);
  std::vector<std::string> out = talk.children(place.queue);
  std::erase_if(out, [&](const std::string& node) {
    return node.substr(zookeeper::guid_size + 1, place.mark.size()) != place.mark;
  });
  std::sort(out.begin(), out.end(), [](const std::string& left, const std::string& right) {
    return sequence(left) < sequence(right);
  });
  for (std::string& node : out) node.insert(0, place.queue + "/");
  return out;
}

std::string ZooKeeperLocks::kept(const std::string& key) const {
  return zookeeper::KeyPlace::of(root_, key).kept;
}

std::int64_t ZooKeeperLocks::sequence(const std::string& node) {
  return std::stoll(node.substr(node.find_last_not_of("0123456789") + 1));
}

}  // namespace mortise::test
