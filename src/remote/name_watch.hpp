// SPDX-License-Identifier: MIT
// Looks a host name up again and again while a connection stands. A name that has moved leads other
// clients to another server; whoever stays with the old one would hold a lock beside them.
#pragma once

#include <mortise/backend.hpp>

#include "base/endpoint.hpp"
#include "base/name_lookups.hpp"
#include "base/random_id.hpp"
#include "base/timer_source.hpp"
#include "remote/moved_name.hpp"
#include "remote/timer.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace mortise::remote {

/// A source of its own, which the background thread sees to: also while no caller waits.
/// @thread_safety every member may be called concurrently.
class NameWatch final : public base::TimerSource {
 public:
  /// Between two questions; a quarter more at random, so that clients do not ask together.
  static constexpr std::chrono::seconds interval{10};
  /// From a question to the moment at which its answer is fetched. Name servers take less; an
  /// answer that comes later is as good as none.
  static constexpr std::chrono::seconds answered_in{2};

  using Moved = std::function<void(const Failure& why)>;
  /// @param where the server, for messages
  /// @param moved called under no mutex, on the thread that polls: has the connection closed
  NameWatch(Host& host, std::string where, Moved moved,
            std::shared_ptr<base::NameLookups> lookups = base::NameLookups::of_process());

  /// @return whether that is a name whose addresses may change: no number, and not localhost.
  [[nodiscard]] static bool is_for(const std::string& host);

  /// A connection to that host is up, and leads there. Those that were up before may still lead to
  /// other addresses of the host, and stay watched.
  void begin(const std::string& host, const base::Endpoint& endpoint);
  /// No connection is up.
  void end() noexcept;

  // Source
  [[nodiscard]] Instant due() const noexcept override { return due_.get(); }
  void ready(short events, Instant now) override;

 private:
  struct Watched {
    std::string address{};
    std::uint16_t port = 0;
    bool is_connected = false;
    MovedName judge{};
  };
  [[nodiscard]] Watched& watched_locked(const std::string& address);
  [[nodiscard]] bool look(Instant now, Failure& why);
  [[nodiscard]] bool has_moved(Watched& watched, const base::Resolution& found, Failure& why) const;
  [[nodiscard]] std::chrono::nanoseconds pause() noexcept;

  Host& host_;
  const std::string where_;
  const Moved moved_;
  Moment due_;

  std::mutex mutex_;
  base::NameQuestion question_;
  bool asks_ = false;
  std::string name_;
  std::vector<Watched> watched_;  // the addresses of that name, the oldest first
  base::SplitMix random_{base::random_bits()};
};

}  // namespace mortise::remote
