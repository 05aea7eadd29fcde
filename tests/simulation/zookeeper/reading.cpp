// SPDX-License-Identifier: MIT
#include "simulation/zookeeper/reading.hpp"

#include "simulation/zookeeper/numbers.hpp"
#include "simulation/zookeeper/rights.hpp"

#include <string_view>

namespace simulation::zookeeper {
namespace {

// Which watches a removal is of.
constexpr std::int32_t of_children = 1;
constexpr std::int32_t of_data = 2;
constexpr std::int32_t of_any = 3;

}  // namespace

std::int32_t Reading::answer(const Request& request, Out& out) {
  In in(request.body);
  try {
    switch (request.type) {
      case op::ping: return code::ok;
      case op::sync: out.text(in.text()); return code::ok;
      case op::exists:
      case op::get_data: return look(request, in, out);
      case op::get_children:
      case op::get_children_2: return list(request, in, out);
      case op::get_acl: return show_acl(request, in, out);
      case op::check_watches:
      case op::remove_watches: return end_watch(request, in);
      case op::set_watches:
      case op::set_watches_2: set_watches(request, in); return code::ok;
      default: return code::unimplemented;
    }
  } catch (const Malformed&) {
    return code::marshalling;
  }
}

std::int32_t Reading::look(const Request& request, In& in, Out& out) {
  const std::string_view path = in.text();
  const bool watch = in.flag();
  const Node* const node = tree_.find(path);
  const bool data = request.type == op::get_data;
  if (!data && path.find('\0') != std::string_view::npos) return code::bad_arguments;
  // What does not exist can be watched, but only by those who ask whether it does.
  if (node == nullptr && data) return code::no_node;
  if (data && !permitted(node->acl, right::read, request.who)) return code::no_auth;
  if (watch) watches_.data.add(path, *request.connection);
  if (node == nullptr) return code::no_node;
  if (data) out.bytes(node->data);
  Stat::of(*node).write(out);
  return code::ok;
}

std::int32_t Reading::list(const Request& request, In& in, Out& out) {
  const std::string_view path = in.text();
  const bool watch = in.flag();
  const Node* const node = tree_.find(path);
  if (node == nullptr) return code::no_node;
  if (!permitted(node->acl, right::read, request.who)) return code::no_auth;
  if (watch) watches_.children.add(path, *request.connection);
  out.int32(static_cast<std::int32_t>(node->children.size()));
  for (const std::string& child : node->children) out.text(child);
  if (request.type == op::get_children_2) Stat::of(*node).write(out);
  return code::ok;
}

std::int32_t Reading::show_acl(const Request& request, In& in, Out& out) {
  const Node* const node = tree_.find(in.text());
  if (node == nullptr) return code::no_node;
  if (!permitted(node->acl, right::read | right::admin, request.who)) return code::no_auth;
  write_acl(out, node->acl, !permitted(node->acl, right::admin, request.who));
  Stat::of(*node).write(out);
  return code::ok;
}

std::int32_t Reading::end_watch(const Request& request, In& in) {
  const std::string_view path = in.text();
  const std::int32_t type = in.int32();
  if (type < of_children || type > of_any) throw Malformed();
  // The server climbs from slash to slash, and falls off a path without any.
  const bool climbs = request.type == op::check_watches && !path.empty();
  if (climbs && path.find('/') == std::string_view::npos) throw Malformed();
  const auto end = [&](WatchTable& table) {
    // The server of our version says yes to whoever asks, if anyone watches.
    return request.type == op::check_watches ? table.contains(path)
                                             : table.remove(path, *request.connection);
  };
  bool found = false;
  if ((type & of_children) != 0 && end(watches_.children)) found = true;
  if ((type & of_data) != 0 && end(watches_.data)) found = true;
  return found ? code::ok : code::no_watcher;
}

// A client that was elsewhere brings its watches, and what it has seen: what has changed since is
// told at once.
void Reading::set_watches(const Request& request, In& in) {
  const ConnectionId who = *request.connection;
  const std::int64_t seen = in.int64();
  for (const std::string_view path : in.texts()) {
    const Node* const node = tree_.find(path);
    if (node == nullptr) {
      audience_.tell(who, event::deleted, path, nullptr);
    } else if (node->stat.mzxid > seen) {
      audience_.tell(who, event::data_changed, path, nullptr);
    } else {
      watches_.data.add(path, who);
    }
  }
  for (const std::string_view path : in.texts()) {
    if (tree_.find(path) != nullptr) {
      audience_.tell(who, event::created, path, nullptr);
    } else {
      watches_.data.add(path, who);
    }
  }
  for (const std::string_view path : in.texts()) {
    const Node* const node = tree_.find(path);
    if (node == nullptr) {
      audience_.tell(who, event::deleted, path, nullptr);
    } else if (node->stat.pzxid > seen) {
      audience_.tell(who, event::children_changed, path, nullptr);
    } else {
      watches_.children.add(path, who);
    }
  }
}

}  // namespace simulation::zookeeper
