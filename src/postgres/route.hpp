// SPDX-License-Identifier: MIT
// The servers that a URL leads to, one after the other: host by host, address by address.
#pragma once

#include "base/resolver.hpp"
#include "postgres/settings.hpp"
#include "remote/dialer.hpp"

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

  /// Begins with the first host.
  void restart();
  enum class Step {
    server,     ///< `keywords()` lead to it
    resolving,  ///< ask again when `descriptor()` is readable
    failed,     ///< a name that leads nowhere: see `error()`; go on
    end,
  };
  [[nodiscard]] Step next();
  /// The name that is looked up leads nowhere in time.
  void give_up_name();
  /// It is not needed for now, and keeps no descriptor, unless a name server or a connector keeps
  /// it waiting.
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
  [[nodiscard]] const Keywords& keywords() const noexcept { return keywords_; }
  /// @return the server, for messages.
  [[nodiscard]] const std::string& where() const noexcept { return where_; }
  [[nodiscard]] const std::string& error() const noexcept { return error_; }
  [[nodiscard]] Errc code() const noexcept { return code_; }

 private:
  [[nodiscard]] Step dialed();
  void lead_to(const Server& host, const std::string& number, const std::string& port);

  const Settings& settings_;
  std::optional<base::Resolver> resolver_;
  std::vector<std::unique_ptr<remote::Dialer>> dialers_;  // by host, where connections are a user's
  base::UniqueFd socket_;
  std::size_t host_ = 0;
  bool resolving_ = false;
  bool hangs_ = false;                     // a lookup was given up, and may still be answered
  std::vector<base::Endpoint> endpoints_;  // of that host, the next one last
  Keywords keywords_;
  std::string where_;
  std::string error_;
  Errc code_ = Errc::unavailable;
};

}  // namespace mortise::postgres
