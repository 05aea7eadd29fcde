// SPDX-License-Identifier: MIT
// The servers that a URL leads to, one after the other: host by host, address by address. The last
// good one comes first.
#pragma once

#include "base/resolver.hpp"
#include "postgres/settings.hpp"
#include "remote/dialer.hpp"
#include "remote/name_watch.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mortise::postgres {

/// @thread_safety one thread at a time
class Route {
 public:
  explicit Route(const Settings& settings);

  /// Begins with the host that was good last, and with its address.
  void restart();
  /// The server that `keywords()` lead to is the right one.
  void remember();
  /// Has its name watched, if it has been looked up.
  void watch(remote::NameWatch& names) const;
  enum class Step {
    server,     ///< `keywords()` lead to it
    resolving,  ///< ask again when `descriptor()` is readable
    failed,     ///< a name that leads nowhere: see `failure()`; go on
    end,
  };
  [[nodiscard]] Step next();
  /// The name that is looked up leads nowhere in time.
  void give_up_name();
  /// It is not needed for now, and keeps no descriptor, unless a connector keeps it waiting.
  void rest();
  /// It has led to a server, or is needed no more: whoever else still connects does so in vain.
  void end() noexcept;
  [[nodiscard]] int descriptor() const noexcept;
  /// @return what is connected to this server, by the user's connector; empty: libpq connects.
  [[nodiscard]] base::UniqueFd take_socket() noexcept { return std::move(socket_); }
  /// @return what is said of a name that leads nowhere in time.
  [[nodiscard]] const char* late_words(const char* of_a_name) const noexcept {
    return settings_.connector ? remote::connector_is_late : of_a_name;
  }
  /// @return all that libpq has to know to connect to this server, and to no other.
  [[nodiscard]] const Keywords& keywords() const noexcept { return target_.keywords; }
  /// @return the server, for messages.
  [[nodiscard]] const std::string& where() const noexcept { return target_.where; }
  [[nodiscard]] Failure failure() const { return {code_, target_.where + ": " + error_}; }

 private:
  [[nodiscard]] Step dialed();
  void lead_to(const Server& host, const std::string& number, const std::string& port);
  [[nodiscard]] std::size_t current() const noexcept {
    return (first_ + turn_) % settings_.servers.size();
  }

  const Settings& settings_;
  std::optional<base::Resolver> resolver_;
  std::vector<std::unique_ptr<remote::Dialer>> dialers_;  // by host, where connections are a user's
  base::UniqueFd socket_;
  std::size_t first_ = 0;  // the host to begin with
  std::size_t turn_ = 0;   // how many hosts are over
  /// The server that it has led to.
  struct Target {
    std::size_t host = 0;
    base::Endpoint endpoint{};  ///< if the host was looked up
    Keywords keywords{};
    std::string where{};
  };
  Target target_;
  std::string good_;  // the last good one of those
  bool resolving_ = false;
  std::vector<base::Endpoint> endpoints_;  // of that host, the next one last
  std::string error_;
  Errc code_ = Errc::unavailable;
};

}  // namespace mortise::postgres
