// SPDX-License-Identifier: MIT
#include "simulation/zookeeper/tree.hpp"

#include "simulation/zookeeper/numbers.hpp"

#include <algorithm>
#include <utility>

namespace simulation::zookeeper {
namespace {

std::string_view or_root(std::string_view path) noexcept { return path.empty() ? "/" : path; }

void tell_all(const std::vector<ConnectionId>& who, std::int32_t event, std::string_view path,
              const Acls& acl, Tree::Audience& audience) {
  for (const ConnectionId each : who) audience.tell(each, event, path, acl);
}

}  // namespace

const Acls& open_acl() {
  static const Acls acl = std::make_shared<const std::vector<Acl>>(
      std::vector<Acl>{{.rights = 31, .scheme = "world", .id = "anyone"}});
  return acl;
}

struct Tree::Step {
  const Txn& txn;
  Watches& watches;
  Audience& audience;
};

Tree::Tree() {
  const auto add = [this](const std::string& path, std::initializer_list<const char*> children) {
    Node& made = nodes_[path];
    made.data = "";
    made.acl = open_acl();
    for (const char* const child : children) made.children.emplace(child);
  };
  add("/", {"zookeeper"});
  add("/zookeeper", {"config", "quota"});
  add("/zookeeper/config", {});
  add("/zookeeper/quota", {});
}

const Node* Tree::find(std::string_view path) const {
  const auto found = nodes_.find(or_root(path));
  return found == nodes_.end() ? nullptr : &found->second;
}

Node* Tree::node(std::string_view path) {
  const auto found = nodes_.find(or_root(path));
  return found == nodes_.end() ? nullptr : &found->second;
}

std::vector<std::string> Tree::owned_by(std::int64_t session) const {
  const auto found = ephemerals_.find(session);
  if (found == ephemerals_.end()) return {};
  return {found->second.begin(), found->second.end()};
}

std::vector<Result> Tree::apply(const Txn& txn, Watches& watches, Audience& audience) {
  std::vector<Result> out;
  out.reserve(txn.changes.size());
  const Step step{.txn = txn, .watches = watches, .audience = audience};
  for (const Change& change : txn.changes) out.push_back(apply(change, step));
  last_ = std::max(last_, txn.zxid);
  return out;
}

Result Tree::apply(const Change& change, const Step& step) {
  switch (change.type) {
    case op::create:
    case op::create_2: return create(change, step, change.ephemeral ? step.txn.session : 0);
    case op::create_container: return create(change, step, container_owner);
    case op::remove:
    case op::delete_container: remove(change.path, step); break;
    case op::create_session: sessions_[step.txn.session] = change.number; break;
    case op::close_session: end_session(change, step); break;
    case op::error: return {.type = op::error, .code = change.code};
    default: break;
  }
  Result out{.type = change.type, .path = change.path};
  Node* const found = node(change.path);
  if (found == nullptr) return out;
  if (change.type == op::set_data) {
    found->data = change.data;
    found->stat.mtime = step.txn.time;
    found->stat.mzxid = step.txn.zxid;
    found->stat.version = change.number;
    out.stat = Stat::of(*found);
    tell_all(step.watches.data.trigger(change.path), event::data_changed, change.path, found->acl,
             step.audience);
  } else if (change.type == op::set_acl) {
    found->acl = change.acl;
    found->stat.aversion = change.number;
    out.stat = Stat::of(*found);
  }
  return out;
}

Result Tree::create(const Change& change, const Step& step, std::int64_t owner) {
  const std::string& path = change.path;
  const std::string_view above = parent_of(path);
  Node* const parent = node(above);
  if (parent == nullptr) return {.type = change.type, .code = code::no_node, .path = path};
  const auto [made, fresh] = nodes_.try_emplace(path);
  if (!fresh) return {.type = change.type, .code = code::node_exists, .path = path};
  Node& child = made->second;
  child.data = change.data;
  child.acl = change.acl;
  child.stat = {.czxid = step.txn.zxid,
                .mzxid = step.txn.zxid,
                .pzxid = step.txn.zxid,
                .ctime = step.txn.time,
                .mtime = step.txn.time,
                .owner = owner};
  parent->children.emplace(name_of(path));
  // It never falls: so the server's counter sticks where its int would wrap.
  if (change.number > parent->stat.cversion) {
    parent->stat.cversion = change.number;
    parent->stat.pzxid = step.txn.zxid;
  }
  if (owner == container_owner) {
    containers_.insert(path);
  } else if (owner != 0) {
    ephemerals_[owner].insert(path);
  }
  Result out{.type = change.type, .path = path, .stat = Stat::of(child)};
  tell_all(step.watches.data.trigger(path), event::created, path, child.acl, step.audience);
  tell_all(step.watches.children.trigger(or_root(above)), event::children_changed, or_root(above),
           parent->acl, step.audience);
  return out;
}

void Tree::remove(const std::string& path, const Step& step) {
  const std::string_view above = parent_of(path);
  Node* const parent = node(above);
  if (parent != nullptr) {
    if (const auto child = parent->children.find(name_of(path)); child != parent->children.end()) {
      parent->children.erase(child);
    }
    parent->stat.pzxid = std::max(parent->stat.pzxid, step.txn.zxid);
  }
  const auto found = nodes_.find(path);
  if (found == nodes_.end()) return;
  const std::int64_t owner = found->second.stat.owner;
  const Acls acl = std::move(found->second.acl);
  nodes_.erase(found);
  if (owner == container_owner) {
    containers_.erase(path);
  } else if (const auto mine = ephemerals_.find(owner); mine != ephemerals_.end()) {
    mine->second.erase(path);
    if (mine->second.empty()) ephemerals_.erase(mine);
  }
  // Whoever watches the node and its children is told once.
  const std::vector<ConnectionId> told = step.watches.data.trigger(path);
  tell_all(told, event::deleted, path, acl, step.audience);
  for (const ConnectionId who : step.watches.children.trigger(path)) {
    if (std::find(told.begin(), told.end(), who) == told.end()) {
      step.audience.tell(who, event::deleted, path, acl);
    }
  }
  if (parent == nullptr) return;
  tell_all(step.watches.children.trigger(or_root(above)), event::children_changed, or_root(above),
           parent->acl, step.audience);
}

void Tree::end_session(const Change& change, const Step& step) {
  for (const std::string& path : change.paths) remove(path, step);
  for (const std::string& path : owned_by(step.txn.session)) remove(path, step);
  sessions_.erase(step.txn.session);
}

}  // namespace simulation::zookeeper
