// SPDX-License-Identifier: MIT
#include "simulation/zookeeper/peer.hpp"

#include "simulation/zookeeper/numbers.hpp"
#include "simulation/zookeeper/reading.hpp"

#include <utility>

namespace simulation::zookeeper {
namespace {

void write_step(Out& out, const Result& result) {
  std::int32_t type = result.type;
  if (type == op::create_container) type = op::create_2;
  if (type == op::delete_container) type = op::remove;
  out.int32(type).flag(false).int32(type == op::error ? result.code : 0);
  if (type == op::create || type == op::create_2) out.text(result.path);
  if (type == op::create_2 || type == op::set_data) result.stat->write(out);
  if (type == op::error) out.int32(result.code);
}

}  // namespace

Peer::Peer(std::size_t index, std::size_t size, Site& site, Post& post, const Options& options)
    : index_(index),
      size_(size),
      site_(site),
      post_(post),
      options_(options),
      connections_(site, watches_, *this) {}

void Peer::received(ConnectionId connection, std::string_view bytes) {
  connections_.receive(connection, bytes);
  connections_.flush();
}

void Peer::restarted(bool keeps_data) {
  post_.forget(index_);
  connections_.clear();
  leave_role();
  if (!keeps_data) {
    tree_ = Tree();
    log_.clear();
    accepted_epoch_ = current_epoch_ = round_ = 0;
  }
  look();
  connections_.flush();
}

void Peer::deliver(Message message) {
  if (message.kind == Kind::vote) {
    hear_vote(message);
  } else if (leading_) {
    hear_follower(message);
  } else if (following_ && message.link == following_->link && message.from == following_->leader) {
    hear_leader(message);
  } else if (message.kind == Kind::follower_info) {
    send(message.from, {.kind = Kind::broken, .link = message.link});
  }
  connections_.flush();
}

void Peer::later(Nanos delay, void (Peer::*then)()) {
  site_.after(delay, [this, then, life = life_] {
    if (life != life_) return;
    (this->*then)();
    connections_.flush();
  });
}

// Its connections are closed, and whoever it spoke with learns that.
void Peer::leave_role() {
  ++life_;
  serving_ = false;
  pending_.clear();
  connections_.hang_up_all();
  if (following_) send(following_->leader, {.kind = Kind::broken, .link = following_->link});
  if (leading_) {
    for (const auto& [follower, handler] : leading_->handlers) {
      send(follower, {.kind = Kind::broken, .link = handler.link});
    }
  }
  electing_.reset();
  following_.reset();
  leading_.reset();
}

bool Peer::awaits_commit(const Request& request) const {
  if (request.throttled) return false;
  switch (request.type) {
    case op::create:
    case op::create_2:
    case op::create_container:
    case op::create_ttl:
    case op::remove:
    case op::set_data:
    case op::set_acl:
    case op::multi:
    case op::check:
    case op::create_session:
    case op::close_session: return true;
    case op::sync: return following_.has_value();
    default: return false;
  }
}

// A session is answered in the order in which it asked; those behind a write wait for it.
void Peer::enqueue(Request request) {
  if (!awaits_commit(request)) {
    const auto waiting = pending_.find(request.session);
    if (waiting == pending_.end()) {
      answer(request);
      return;
    }
  }
  pending_[request.session].push_back(std::move(request));
}

void Peer::drain(std::int64_t session) {
  for (auto found = pending_.find(session); found != pending_.end();
       found = pending_.find(session)) {
    if (found->second.empty()) {
      pending_.erase(found);
      return;
    }
    if (awaits_commit(found->second.front())) return;
    const Request request = std::move(found->second.front());
    found->second.pop_front();
    answer(request);
  }
}

void Peer::answer(const Request& request) {
  if (!request.connection) return;
  Connection* const connection = connections_.find(*request.connection);
  if (connection == nullptr) return;
  Out body;
  std::int32_t code = request.throttled ? code::throttled : request.code;
  if (code == code::session_moved) {
    connections_.hang_up(*connection);
    return;
  }
  if (code == code::ok) code = Reading(tree_, watches_, connections_).answer(request, body);
  const std::int32_t cxid = request.type == op::ping ? xid::ping : request.cxid;
  connections_.reply(connection->id, cxid, tree_.last(), code, body.str());
}

void Peer::carry_out(const TxnPtr& txn) {
  const std::vector<Result> results = tree_.apply(*txn, watches_, connections_);
  note_session(*txn);
  const auto found = pending_.find(txn->session);
  const bool mine = found != pending_.end() && !found->second.empty() &&
                    found->second.front().cxid == txn->cxid &&
                    (found->second.front().type == txn->type || txn->type == op::error);
  if (mine) {
    const Request request = std::move(found->second.front());
    found->second.pop_front();
    answer(request, *txn, results);
    drain(txn->session);
  } else if (txn->type == op::close_session) {
    if (Connection* const connection = connections_.of_session(txn->session)) {
      connections_.hang_up(*connection);
    }
  }
}

void Peer::note_session(const Txn& txn) {
  if (leading_) {
    leading_->preparer.committed(txn.zxid);
    if (txn.type == op::close_session) leading_->sessions.remove(txn.session);
  } else if (following_) {
    if (txn.type == op::create_session) {
      following_->touched[txn.session] = txn.changes.front().number;
    } else if (txn.type == op::close_session) {
      following_->touched.erase(txn.session);
    }
  }
}

void Peer::answer(const Request& request, const Txn& txn, const std::vector<Result>& results) {
  Connection* const connection =
      request.connection ? connections_.find(*request.connection) : nullptr;
  if (connection == nullptr) return;
  if (request.type == op::create_session) {
    connections_.welcome(*connection, true);
    return;
  }
  Out body;
  std::int32_t code = code::ok;
  if (txn.type == op::multi) {
    for (const Result& each : results) {
      if (each.code == code::session_moved) code = each.code;
      write_step(body, each);
    }
    body.int32(-1).flag(true).int32(-1);
  } else if (const Result& result = results.front(); result.code != code::ok) {
    code = result.code;
  } else {
    if (txn.type == op::create) body.text(result.path);
    if (txn.type == op::create_2 || txn.type == op::create_container) body.text(result.path);
    if (result.stat && txn.type != op::create) result.stat->write(body);
  }
  // An error of the connection: the client has gone to another server.
  if (code == code::session_moved) {
    connections_.hang_up(*connection);
    return;
  }
  connections_.reply(connection->id, request.cxid, tree_.last(), code, body.str());
  if (txn.type == op::close_session) connections_.hang_up(*connection);
}

}  // namespace simulation::zookeeper
