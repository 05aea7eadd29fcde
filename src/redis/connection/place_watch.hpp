// SPDX-License-Identifier: MIT
// Watches whether the address of a server, or its sentinels, still lead to the same server.
#pragma once

#include <mortise/backend.hpp>

#include "redis/connection/connection.hpp"
#include "redis/store/settings.hpp"
#include "redis/topology/sentinel_watch.hpp"
#include "remote/name_watch.hpp"

#include <memory>
#include <utility>

namespace mortise::redis {

/// @thread_safety every member may be called concurrently
class PlaceWatch {
 public:
  /// @param settings, tls, sentinels, commands outlive it; tls and sentinels may be null
  /// @param moved called if the name leads elsewhere: has the connections closed
  PlaceWatch(Host& host, const Settings& settings, const remote::Tls* tls, Sentinels* sentinels,
             Connection& commands, remote::NameWatch::Moved moved)
      : host_(host) {
    if (sentinels != nullptr) {
      sentinels_ = std::make_unique<SentinelWatch>(host, settings, tls, *sentinels, commands);
    }
    if (settings.connector) return;
    // A master that sentinels name may have a name as well.
    if (sentinels != nullptr || remote::NameWatch::is_for(settings.address.host)) {
      name_ = std::make_unique<remote::NameWatch>(host, commands.where(), std::move(moved));
    }
  }

  void attach() {
    if (sentinels_) host_.attach(*sentinels_);
    if (name_) host_.attach(*name_);
  }
  /// No connection is wanted.
  void rest() noexcept {
    if (name_) host_.detach(*name_);
  }
  void close() noexcept {
    if (sentinels_) {
      host_.detach(*sentinels_);
      sentinels_->close();
    }
    if (name_) {
      host_.detach(*name_);
      name_->end();
    }
  }
  /// The connection for commands is up, and leads there.
  void begin(const Destination& at) {
    if (sentinels_) sentinels_->rouse();
    if (name_) name_->begin(at.host(), at.endpoint());
  }
  /// It broke.
  void end() {
    if (sentinels_) sentinels_->rouse();
    if (name_) name_->end();
  }

 private:
  Host& host_;
  std::unique_ptr<SentinelWatch> sentinels_;  // null = the address is known
  std::unique_ptr<remote::NameWatch> name_;   // null = the address is no name
};

}  // namespace mortise::redis
