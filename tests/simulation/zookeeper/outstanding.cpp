// SPDX-License-Identifier: MIT
#include "simulation/zookeeper/outstanding.hpp"

#include <set>
#include <utility>

namespace simulation::zookeeper {

Outstanding::Record Outstanding::find(std::string_view path) const {
  if (const auto found = records_.find(path); found != records_.end()) return found->second;
  const Node* const node = tree_.find(path);
  if (node == nullptr) return {};
  return {.exists = true,
          .stat = node->stat,
          .children = static_cast<std::int32_t>(node->children.size()),
          .acl = node->acl};
}

void Outstanding::put(std::string_view path, Record record) {
  auto found = records_.find(path);
  if (undo_) {
    undo_->push_back(
        {.path = std::string(path),
         .record = found == records_.end() ? std::nullopt : std::optional<Record>(found->second)});
  }
  if (found == records_.end()) found = records_.try_emplace(std::string(path)).first;
  order_.emplace_back(record.zxid, found->first);
  found->second = std::move(record);
}

void Outstanding::committed(std::int64_t zxid) {
  for (; !order_.empty() && order_.front().first <= zxid; order_.pop_front()) {
    const auto found = records_.find(order_.front().second);
    // A later one has taken its place.
    if (found != records_.end() && found->second.zxid <= zxid) records_.erase(found);
  }
}

void Outstanding::clear() {
  records_.clear();
  order_.clear();
}

std::vector<std::string> Outstanding::owned_by(std::int64_t session) const {
  std::vector<std::string> tree = tree_.owned_by(session);
  if (order_.empty()) return tree;
  std::set<std::string> out(tree.begin(), tree.end());
  for (const auto& [zxid, path] : order_) {
    const auto found = records_.find(path);
    if (found == records_.end()) continue;
    if (found->second.exists && found->second.stat.owner == session) {
      out.insert(path);
    } else if (!found->second.exists) {
      out.erase(path);
    }
  }
  return {out.begin(), out.end()};
}

void Outstanding::roll_back() {
  for (auto each = undo_->rbegin(); each != undo_->rend(); ++each) {
    order_.pop_back();
    if (each->record) {
      records_[each->path] = *each->record;
    } else {
      records_.erase(each->path);
    }
  }
  end();
}

}  // namespace simulation::zookeeper
