// SPDX-License-Identifier: MIT
// What a bad network does at the moment, and what has come through it. Data only; who shares it
// between threads guards it.
#pragma once

#include "base/random_id.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace mortise::test {

/// What is spoken through the proxy.
enum class ProxyProtocol { redis, postgres, zookeeper, lines };
/// What a request is: of the time before the connection is up, an operation of a lock (EVAL and
/// EVALSHA; a statement with parameters), the beginning of a subscription, or something else.
enum class ProxyRequest { greeting, operation, subscription, other };
/// An inbox has subscribed, and all others are of commands; `scripts`: those that have sent an
/// operation of a lock.
enum class ProxyConnections { all, commands, inboxes, scripts };
enum class ProxyDirection { both, to_server, to_client };
/// `scripts`: replies to operations of a lock; `pushes`: messages of a subscription.
enum class ProxyReplies { any, scripts, pushes };

/// Before the server has a request; or after it has answered, before the client knows.
enum class ProxyMoment { request, reply };

struct ProxyDelay {
  std::chrono::nanoseconds least{0};
  std::chrono::nanoseconds most{0};
};

/// Happens to one reply, once.
struct ProxyMishap {
  ProxyReplies to = ProxyReplies::any;
  std::optional<std::size_t> cut_after;  ///< else the reply is replaced by `garbage`
  std::string garbage;
};

/// The connection ends at one operation, once.
struct ProxyCut {
  std::size_t left = 1;  ///< how many come before it, and it
  ProxyMoment at = ProxyMoment::request;
  std::string command{};  ///< counts these only; empty: all
};

struct ProxyFaults {
  double lose_reply = 0;
  double lose_request = 0;
  double lose_push = 0;
  ProxyDelay to_server;
  ProxyDelay to_client;
  ProxyDelay push;
  std::chrono::nanoseconds drip{0};
  bool blackhole = false;
  bool reset_new = false;
  std::optional<ProxyMishap> mishap;
  std::optional<std::string> instead;  ///< the server has this for one operation, once ...
  std::size_t before_instead = 0;      ///< ... after so many others
  std::optional<ProxyCut> cut;
  std::map<std::string, std::int32_t> refusals;  ///< commands of ZooKeeper, and with which error
};

struct ProxyCounts {
  std::map<std::string, std::uint64_t> commands;  ///< from clients, by name in capitals
  std::uint64_t accepted = 0;                     ///< connections
  std::uint64_t cuts = 0;                         ///< connections that the proxy has reset
  std::uint64_t pushes = 0;                       ///< messages from the server, lost ones too
  std::uint64_t lost_pushes = 0;
  std::uint64_t lost_replies = 0;
  std::uint64_t lost_requests = 0;
  std::uint64_t mishaps = 0;
  std::uint64_t refusals = 0;
};

struct ProxyNetwork {
  ProxyFaults faults;
  ProxyCounts counts;
  base::SplitMix random;

  [[nodiscard]] bool happens(double probability) {
    return probability > 0 && random.unit() < probability;
  }
  [[nodiscard]] std::chrono::nanoseconds draw(const ProxyDelay& delay) {
    if (delay.most <= delay.least) return delay.least;
    const auto range = static_cast<double>((delay.most - delay.least).count());
    return delay.least + std::chrono::nanoseconds(static_cast<std::int64_t>(random.unit() * range));
  }
};

}  // namespace mortise::test
