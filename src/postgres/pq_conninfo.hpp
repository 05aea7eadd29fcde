// SPDX-License-Identifier: MIT
// What libpq would connect with: a URL, and behind it the service file, the environment and libpq's
// own defaults. libpq itself is asked for all of it, and for whether it accepts it.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mortise::postgres {

/// The keywords and values of a connection, as libpq names them.
using Keywords = std::vector<std::pair<std::string, std::string>>;

/// The same as libpq wants them; the strings must live as long.
struct KeywordList {
  explicit KeywordList(const Keywords& keywords);
  std::vector<const char*> keys;
  std::vector<const char*> values;
};

/// Reads a URL as libpq does; only what it says, no defaults.
/// @return nothing: libpq does not understand it. Its words are not handed on, since they may quote
/// a password.
[[nodiscard]] std::optional<Keywords> parse_url(const std::string& url);
/// @return whether this libpq has a keyword of that name. (`ssl=true` is one in a URL.)
[[nodiscard]] bool is_keyword(const std::string& name);

/// @return the value of a keyword; null: it has none.
[[nodiscard]] const std::string* value_in(const Keywords& keywords, const std::string& key);

/// All settings of a connection. Nothing is connected to and no name is looked up for it.
class Conninfo {
 public:
  /// @param of_url what the URL says; each value that it lacks comes from where psql has it from
  explicit Conninfo(Keywords of_url);

  [[nodiscard]] const Keywords& all() const noexcept { return all_; }
  /// @return why libpq would never connect with these settings, and where the wrong one came from;
  /// empty: it accepts them.
  [[nodiscard]] std::string refusal() const;
  /// @return where a value came from: "URL", "environment variable PGPORT", "service file".
  [[nodiscard]] std::string origin(const std::string& key) const;
  /// @return whether no source but libpq itself gives that value.
  [[nodiscard]] bool is_default(const std::string& key) const;

 private:
  Keywords of_url_;
  Keywords all_;
  std::string words_;  // of a refusal
};

/// @return the folder of the unix socket where no host is named.
[[nodiscard]] std::string default_socket_folder();

}  // namespace mortise::postgres
