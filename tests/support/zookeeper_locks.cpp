// SPDX-License-Identifier: MIT
#include "support/zookeeper_locks.hpp"

#include "zookeeper/lock_path.hpp"

#include <algorithm>

namespace mortise::test {

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
  for (const std::string& name : talk.children(root_)) {
    const std::size_t nodes = talk.children(root_ + "/" + name).size();
    sum += nodes > 0 ? nodes - 1 : 0;
  }
  return sum;
}

std::int64_t ZooKeeperLocks::sequence(const std::string& node) {
  return std::stoll(node.substr(node.find_last_not_of("0123456789") + 1));
}

}  // namespace mortise::test
