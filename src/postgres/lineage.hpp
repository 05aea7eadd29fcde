// SPDX-License-Identifier: MIT
// Of the servers that a client can reach one may have been replaced by another: a standby that was
// promoted has a newer timeline. A client that has seen that one does not go back to the old one,
// which may still take writes.
#pragma once

#include "base/mutant.hpp"

#include <cstdint>
#include <mutex>

namespace mortise::postgres {

/// Which server it is; zeros: it does not tell.
struct Whereabouts {
  std::int64_t cluster = 0;   ///< all standbys have that of their primary
  std::int64_t timeline = 0;  ///< grows with each promotion
  std::int64_t database = 0;  ///< its number in the cluster
};

/// @thread_safety every member may be called concurrently.
class Lineage {
 public:
  /// A server is met. @return whether it is a newer one than those before: they are outdated
  [[nodiscard]] bool follow(const Whereabouts& server) {
    const std::lock_guard lock(mutex_);
    newest_.database = server.database;
    if (server.cluster == 0) return false;
    const bool other = server.cluster != newest_.cluster;
    if (!other && server.timeline <= newest_.timeline) return false;
    const bool newer = !other && newest_.timeline > 0;
    newest_ = server;
    return newer;
  }
  /// @return whether the server was replaced by one that was met.
  [[nodiscard]] bool outdated(const Whereabouts& server) const {
    const std::lock_guard lock(mutex_);
    return server.cluster != 0 && server.cluster == newest_.cluster &&
           server.timeline < newest_.timeline && !base::mutant("postgres.go_back_to_old_primary");
  }

  /// @return the newest server that was met.
  [[nodiscard]] Whereabouts newest() const {
    const std::lock_guard lock(mutex_);
    return newest_;
  }

 private:
  mutable std::mutex mutex_;
  Whereabouts newest_;
};

}  // namespace mortise::postgres
