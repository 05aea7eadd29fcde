// SPDX-License-Identifier: MIT
// What the leader makes of a request: a transaction, or an error. It decides by what is committed
// and by what is proposed already (the server's PrepRequestProcessor).
#pragma once

#include "simulation/zookeeper/asked.hpp"
#include "simulation/zookeeper/outstanding.hpp"
#include "simulation/zookeeper/request.hpp"
#include "simulation/zookeeper/sessions.hpp"
#include "simulation/zookeeper/txn.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace simulation::zookeeper {

class Preparer {
 public:
  /// @param alone a server without others answers a session that it does not know by another code
  /// @param zxid the last one that was given
  Preparer(const Tree& tree, Sessions& sessions, bool alone, std::int64_t zxid)
      : outstanding_(tree), sessions_(sessions), alone_(alone), zxid_(zxid) {}

  /// @param now milliseconds since 1970
  /// @param uptime of the clock that sessions go by
  /// @return what is to be proposed, though it may be an error; nullptr: nothing is. Either way
  /// `request.code` tells of the error.
  TxnPtr prepare(Request& request, std::int64_t now, Nanos uptime);
  /// A transaction is carried out.
  void committed(std::int64_t zxid) { outstanding_.committed(zxid); }

 private:
  std::int32_t fill(const Request& request, Nanos uptime);
  std::int32_t step(const Request& request, const Asked& asked, Change& out);
  std::int32_t create(const Request& request, const Asked& asked, Change& out);
  std::int32_t remove(const Request& request, const Asked& asked, Change& out);
  std::int32_t remove_container(const std::string& path, Change& out);
  std::int32_t set_data(const Request& request, const Asked& asked, Change& out);
  std::int32_t set_acl(const Request& request, const Asked& asked, Change& out);
  std::int32_t check(const Request& request, const Asked& asked, Change& out);
  std::int32_t multi(const Request& request);
  void close_session(const Request& request, Change& out);
  void put_removal(const std::string& path, Outstanding::Record parent);
  [[nodiscard]] std::int32_t check_session(const Request& request, bool global = false);

  Outstanding outstanding_;
  Sessions& sessions_;
  const bool alone_;
  std::int64_t zxid_;
  std::shared_ptr<Txn> txn_{};  // in the making
};

}  // namespace simulation::zookeeper
