// SPDX-License-Identifier: MIT
#include "simulation/zookeeper/preparer.hpp"

#include "simulation/zookeeper/numbers.hpp"
#include "simulation/zookeeper/paths.hpp"
#include "simulation/zookeeper/rights.hpp"

#include <array>
#include <cstdio>
#include <utility>

namespace simulation::zookeeper {
namespace {

std::int32_t plus_one(std::int32_t number) noexcept {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(number) + 1U);  // Java's int wraps
}

std::string ten_digits(std::int32_t number) {
  std::array<char, 16> text{};
  const int size = std::snprintf(text.data(), text.size(), "%010d", number);
  return {text.data(), static_cast<std::size_t>(size)};
}

bool right_version(std::int32_t asked, std::int32_t there) noexcept {
  return asked == -1 || asked == there;
}

bool only_looks(std::int32_t type) noexcept {
  switch (type) {
    case op::sync:
    case op::exists:
    case op::get_data:
    case op::get_acl:
    case op::get_children:
    case op::get_children_2:
    case op::ping:
    case op::set_watches:
    case op::set_watches_2:
    case op::check_watches:
    case op::remove_watches: return true;
    default: return false;
  }
}

}  // namespace

TxnPtr Preparer::prepare(Request& request, std::int64_t now, Nanos uptime) {
  request.code = code::ok;
  if (request.throttled) return nullptr;
  if (only_looks(request.type)) {
    request.code = check_session(request);
    return nullptr;
  }
  txn_ = std::make_shared<Txn>(Txn{.session = request.session,
                                   .cxid = request.cxid,
                                   .zxid = ++zxid_,
                                   .time = now,
                                   .type = request.type});
  try {
    request.code = fill(request, uptime);
  } catch (const Malformed&) {
    request.code = code::marshalling;
  }
  // A multi that failed tells so in its steps.
  if (request.code != code::ok &&
      (request.type != op::multi || request.code == code::marshalling)) {
    txn_->type = op::error;
    txn_->changes.assign(1, {.type = op::error, .code = request.code});
  }
  return std::exchange(txn_, nullptr);
}

std::int32_t Preparer::fill(const Request& request, Nanos uptime) {
  if (request.type == op::multi) return multi(request);
  Change& out = txn_->changes.emplace_back(Change{.type = request.type});
  In in(request.body);
  switch (request.type) {
    case op::create_session:
      out.number = in.int32();
      sessions_.track(request.session, out.number, uptime);
      sessions_.set_owner(request.session, request.owner);
      return code::ok;
    case op::close_session: close_session(request, out); return code::ok;
    case op::delete_container: return remove_container(request.body, out);
    default: return step(request, Asked::read(request.type, in), out);
  }
}

std::int32_t Preparer::check_session(const Request& request, bool global) {
  if (request.session == 0) return code::ok;  // an administrator's, at the server itself
  const std::int32_t found = sessions_.check(request.session, request.owner);
  return found == code::unknown_session && (global || !alone_) ? code::session_expired : found;
}

std::int32_t Preparer::step(const Request& request, const Asked& asked, Change& out) {
  switch (asked.type) {
    case op::remove: return remove(request, asked, out);
    case op::set_data: return set_data(request, asked, out);
    case op::set_acl: return set_acl(request, asked, out);
    case op::check: return check(request, asked, out);
    default: return create(request, asked, out);
  }
}

std::int32_t Preparer::create(const Request& request, const Asked& asked, Change& out) {
  if (asked.flags < 0 || asked.flags > flag::last) return code::bad_arguments;
  // Nodes with a time to live are for servers that are told to have them.
  if (asked.type == op::create_ttl || asked.flags > flag::container) return code::unimplemented;
  const bool ephemeral = (asked.flags & flag::ephemeral) != 0;
  if (const std::int32_t wrong = check_session(request, ephemeral); wrong != code::ok) return wrong;
  if (!has_parent(asked.path)) return code::bad_arguments;
  out.acl = stored_acl(asked.acl, request.who);
  if (!out.acl) return code::invalid_acl;
  const std::string_view above = parent_of(asked.path);
  Outstanding::Record parent = outstanding_.find(above);
  if (!parent.exists) return code::no_node;
  if (!permitted(parent.acl, right::create, request.who)) return code::no_auth;
  out.path = asked.path;
  if ((asked.flags & flag::sequential) != 0) out.path += ten_digits(parent.stat.cversion);
  if (!valid_path(out.path)) return code::bad_arguments;
  if (outstanding_.find(out.path).exists) return code::node_exists;
  if (parent.stat.ephemeral()) return code::no_children_for_ephemerals;
  out.data = asked.data;
  out.ephemeral = ephemeral;
  out.number = plus_one(parent.stat.cversion);
  parent.zxid = txn_->zxid;
  ++parent.children;
  parent.stat.cversion = out.number;
  parent.stat.pzxid = txn_->zxid;
  outstanding_.put(above, std::move(parent));
  const bool container = asked.flags == flag::container;
  outstanding_.put(out.path, {.zxid = txn_->zxid,
                              .exists = true,
                              .stat = {.czxid = txn_->zxid,
                                       .mzxid = txn_->zxid,
                                       .pzxid = txn_->zxid,
                                       .owner = container   ? container_owner
                                                : ephemeral ? request.session
                                                            : 0},
                              .acl = out.acl});
  return code::ok;
}

void Preparer::put_removal(const std::string& path, Outstanding::Record parent) {
  parent.zxid = txn_->zxid;
  --parent.children;
  parent.stat.pzxid = txn_->zxid;
  outstanding_.put(parent_of(path), std::move(parent));
  outstanding_.put(path, {.zxid = txn_->zxid});
}

std::int32_t Preparer::remove(const Request& request, const Asked& asked, Change& out) {
  if (const std::int32_t wrong = check_session(request); wrong != code::ok) return wrong;
  if (!has_parent(asked.path) || special_path(asked.path)) return code::bad_arguments;
  Outstanding::Record parent = outstanding_.find(parent_of(asked.path));
  if (!parent.exists) return code::no_node;
  if (!permitted(parent.acl, right::remove, request.who)) return code::no_auth;
  const Outstanding::Record node = outstanding_.find(asked.path);
  if (!node.exists) return code::no_node;
  if (!right_version(asked.version, node.stat.version)) return code::bad_version;
  if (node.children > 0) return code::not_empty;
  out.path = asked.path;
  put_removal(asked.path, std::move(parent));
  return code::ok;
}

std::int32_t Preparer::remove_container(const std::string& path, Change& out) {
  const Outstanding::Record node = outstanding_.find(path);
  if (!node.exists) return code::no_node;
  if (node.children > 0) return code::not_empty;
  if (node.stat.owner != container_owner) return code::bad_version;
  out.path = path;
  put_removal(path, outstanding_.find(parent_of(path)));
  return code::ok;
}

std::int32_t Preparer::set_data(const Request& request, const Asked& asked, Change& out) {
  if (const std::int32_t wrong = check_session(request); wrong != code::ok) return wrong;
  if (!valid_path(asked.path)) return code::bad_arguments;
  Outstanding::Record node = outstanding_.find(asked.path);
  if (!node.exists) return code::no_node;
  if (!permitted(node.acl, right::write, request.who)) return code::no_auth;
  if (!right_version(asked.version, node.stat.version)) return code::bad_version;
  out.path = asked.path;
  out.data = asked.data;
  out.number = plus_one(node.stat.version);
  node.zxid = txn_->zxid;
  node.stat.version = out.number;
  node.stat.mzxid = txn_->zxid;
  outstanding_.put(asked.path, std::move(node));
  return code::ok;
}

std::int32_t Preparer::set_acl(const Request& request, const Asked& asked, Change& out) {
  if (const std::int32_t wrong = check_session(request); wrong != code::ok) return wrong;
  if (!valid_path(asked.path)) return code::bad_arguments;
  out.acl = stored_acl(asked.acl, request.who);
  if (!out.acl) return code::invalid_acl;
  Outstanding::Record node = outstanding_.find(asked.path);
  if (!node.exists) return code::no_node;
  if (!permitted(node.acl, right::admin, request.who)) return code::no_auth;
  if (!right_version(asked.version, node.stat.aversion)) return code::bad_version;
  out.path = asked.path;
  out.number = plus_one(node.stat.aversion);
  node.zxid = txn_->zxid;
  node.stat.aversion = out.number;
  // As in the server, whose record keeps the old ACL until this is carried out.
  outstanding_.put(asked.path, std::move(node));
  return code::ok;
}

std::int32_t Preparer::check(const Request& request, const Asked& asked, Change& out) {
  if (const std::int32_t wrong = check_session(request); wrong != code::ok) return wrong;
  if (!valid_path(asked.path)) return code::bad_arguments;
  const Outstanding::Record node = outstanding_.find(asked.path);
  if (!node.exists) return code::no_node;
  if (!permitted(node.acl, right::read, request.who)) return code::no_auth;
  if (!right_version(asked.version, node.stat.version)) return code::bad_version;
  out.path = asked.path;
  return code::ok;
}

// All or nothing: where one fails, those before it are told `ok`, and those behind it were not
// looked at.
std::int32_t Preparer::multi(const Request& request) {
  In in(request.body);
  const std::vector<Asked> steps = Asked::read_multi(in);
  txn_->changes.reserve(steps.size());
  outstanding_.begin();
  for (const Asked& asked : steps) {
    if (asked.unfit) {
      outstanding_.roll_back();
      throw Malformed();
    }
    Change& out = txn_->changes.emplace_back(Change{.type = asked.type});
    const std::int32_t failed = step(request, asked, out);
    if (failed == code::ok) continue;
    outstanding_.roll_back();
    for (Change& before : txn_->changes) before = {.type = op::error, .code = code::ok};
    txn_->changes.back().code = failed;
    txn_->changes.resize(steps.size(), {.type = op::error, .code = code::runtime_inconsistency});
    return failed;
  }
  outstanding_.end();
  return code::ok;
}

void Preparer::close_session(const Request& request, Change& out) {
  out.paths = outstanding_.owned_by(request.session);
  for (const std::string& path : out.paths) {
    // As in the server, whose record of the parent goes on counting the child.
    Outstanding::Record parent = outstanding_.find(parent_of(path));
    ++parent.children;
    put_removal(path, std::move(parent));
  }
  sessions_.set_closing(request.session);
}

}  // namespace simulation::zookeeper
