// SPDX-License-Identifier: MIT
// The simulation's libpq: URLs and "keyword=value" texts (fe-connect.c, "Connection Strings"). The
// environment is not looked at: it would differ from run to run.
#include "simulation/postgres/world_libpq.hpp"

#include <libpq-fe.h>

#include <cctype>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace {

using Keywords = std::map<std::string, std::string>;

constexpr const char* known[] = {"service",
                                 "user",
                                 "password",
                                 "passfile",
                                 "channel_binding",
                                 "connect_timeout",
                                 "dbname",
                                 "host",
                                 "hostaddr",
                                 "port",
                                 "client_encoding",
                                 "options",
                                 "application_name",
                                 "fallback_application_name",
                                 "keepalives",
                                 "keepalives_idle",
                                 "keepalives_interval",
                                 "keepalives_count",
                                 "tcp_user_timeout",
                                 "sslmode",
                                 "sslcompression",
                                 "sslcert",
                                 "sslkey",
                                 "sslpassword",
                                 "sslrootcert",
                                 "sslcrl",
                                 "sslcrldir",
                                 "sslsni",
                                 "requirepeer",
                                 "ssl_min_protocol_version",
                                 "ssl_max_protocol_version",
                                 "gssencmode",
                                 "krbsrvname",
                                 "gsslib",
                                 "replication",
                                 "target_session_attrs"};

bool is_known(std::string_view key) {
  for (const char* const each : known) {
    if (key == each) return true;
  }
  return false;
}

std::optional<std::string> decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 2 >= text.size() || std::isxdigit(static_cast<unsigned char>(text[i + 1])) == 0 ||
        std::isxdigit(static_cast<unsigned char>(text[i + 2])) == 0) {
      return std::nullopt;
    }
    const std::string digits(text.substr(i + 1, 2));
    const auto byte = static_cast<char>(std::strtoul(digits.c_str(), nullptr, 16));
    if (byte == '\0') return std::nullopt;
    out += byte;
    i += 2;
  }
  return out;
}

/// @return false: a bad escape, or no such keyword
bool put(Keywords& into, std::string_view key, std::string_view value) {
  const std::optional<std::string> plain_key = decoded(key);
  const std::optional<std::string> plain = decoded(value);
  if (!plain_key || !plain || !is_known(*plain_key)) return false;
  into[*plain_key] = *plain;
  return true;
}

bool put_hosts(Keywords& into, std::string_view hosts) {
  std::string names;
  std::string ports;
  bool any_port = false;
  for (bool first = true; first || !hosts.empty(); first = false) {
    const std::string_view one = hosts.substr(0, hosts.find(','));
    hosts.remove_prefix(std::min(one.size() + 1, hosts.size()));
    std::string_view name = one;
    std::string_view port;
    if (one.starts_with('[')) {
      const std::size_t end = one.find(']');
      if (end == std::string_view::npos) return false;
      name = one.substr(1, end - 1);
      if (one.substr(end + 1).starts_with(':')) port = one.substr(end + 2);
    } else if (const std::size_t colon = one.find(':'); colon != std::string_view::npos) {
      name = one.substr(0, colon);
      port = one.substr(colon + 1);
    }
    any_port = any_port || !port.empty();
    if (!first) names += ',';
    if (!first) ports += ',';
    names += name;
    ports += port;
  }
  return (names.empty() || put(into, "host", names)) && (!any_port || put(into, "port", ports));
}

std::optional<Keywords> from_url(std::string_view text) {
  Keywords all;
  text.remove_prefix(text.find("//") + 2);
  const std::size_t mark = text.find_first_of("@/?");
  if (mark != std::string_view::npos && text[mark] == '@') {
    const std::string_view who = text.substr(0, mark);
    const std::size_t colon = who.find(':');
    if (!who.substr(0, colon).empty() && !put(all, "user", who.substr(0, colon))) return {};
    if (colon != std::string_view::npos && !put(all, "password", who.substr(colon + 1))) return {};
    text.remove_prefix(mark + 1);
  }
  const std::size_t hosts_end = std::min(text.find_first_of("/?"), text.size());
  if (!put_hosts(all, text.substr(0, hosts_end))) return {};
  text.remove_prefix(hosts_end);
  if (text.starts_with('/')) {
    const std::size_t end = std::min(text.find('?'), text.size());
    if (end > 1 && !put(all, "dbname", text.substr(1, end - 1))) return {};
    text.remove_prefix(end);
  }
  if (!text.empty()) text.remove_prefix(1);
  while (!text.empty()) {
    const std::string_view pair = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(pair.size() + 1, text.size()));
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos) return {};
    if (!put(all, pair.substr(0, equals), pair.substr(equals + 1))) return {};
  }
  return all;
}

std::optional<Keywords> from_words(std::string_view text) {
  Keywords all;
  const auto skip = [&] {
    while (text.starts_with(' ')) text.remove_prefix(1);
  };
  for (skip(); !text.empty(); skip()) {
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) return {};
    const std::string key(text.substr(0, text.find_first_of(" =")));
    text.remove_prefix(equals + 1);
    skip();
    const bool quoted = text.starts_with('\'');
    if (quoted) text.remove_prefix(1);
    std::string value;
    while (!text.empty() && text.front() != (quoted ? '\'' : ' ')) {
      if (text.front() == '\\' && text.size() > 1) text.remove_prefix(1);
      value += text.front();
      text.remove_prefix(1);
    }
    if (quoted) {
      if (text.empty()) return {};
      text.remove_prefix(1);
    }
    if (!is_known(key)) return {};
    all[key] = value;
  }
  return all;
}

PQconninfoOption* options_of(const Keywords& all) {
  auto* const options = static_cast<PQconninfoOption*>(
      std::calloc(std::size(known) + 1, sizeof(PQconninfoOption)));  // NOLINT: freed by C's means
  for (std::size_t i = 0; i < std::size(known); ++i) {
    options[i].keyword = const_cast<char*>(known[i]);  // NOLINT: the interface is C's
    const auto found = all.find(known[i]);
    if (found != all.end()) options[i].val = ::strdup(found->second.c_str());
  }
  return options;
}

Keywords defaults() { return {{"user", "simulation"}, {"port", "5432"}, {"sslmode", "disable"}}; }

}  // namespace

extern "C" {

PQconninfoOption* PQconninfoParse(const char* conninfo, char** words) {
  if (words != nullptr) *words = nullptr;
  const std::string_view text(conninfo);
  const bool url = text.starts_with("postgresql://") || text.starts_with("postgres://");
  const std::optional<Keywords> all = url ? from_url(text) : from_words(text);
  if (all) return options_of(*all);
  if (words != nullptr) *words = ::strdup("invalid connection string\n");
  return nullptr;
}

PQconninfoOption* PQconndefaults() { return options_of(defaults()); }

PQconninfoOption* PQconninfo(PGconn* connection) {
  Keywords all = defaults();
  for (const auto& [key, value] : connection->keywords) all[key] = value;
  return options_of(all);
}

char* PQhost(const PGconn* /*connection*/) {
  static char folder[] = "/var/run/postgresql";
  return folder;
}

void PQconninfoFree(PQconninfoOption* options) {
  if (options == nullptr) return;
  for (PQconninfoOption* each = options; each->keyword != nullptr; ++each) std::free(each->val);
  std::free(options);
}

}  // extern "C"
