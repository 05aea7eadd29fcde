// SPDX-License-Identifier: MIT
// The URL is libpq's, but for what begins with `mortise.`, which is taken out of it. What the URL
// lacks comes from the service file and the environment, as it does for psql.
#include "postgres/settings.hpp"

#include <mortise/error.hpp>

#include "base/url.hpp"
#include "base/whole_number.hpp"

#include <arpa/inet.h>
#include <sys/un.h>

#include <algorithm>
#include <utility>

namespace mortise::postgres {
namespace {

constexpr std::string_view ours = "mortise.";
constexpr std::size_t longest_identifier = 63;
constexpr std::size_t most_connections = 64;

using base::Literal;
using base::refuse_url;

/// Refuses a value that may come from the environment or the service file. What a URL says does not
/// stand in the words, only that it was the URL.
[[noreturn]] void refuse(const std::string& words) { throw Error({Errc::misconfigured, words}); }

/// libpq ends a password at its first '@', if no '/' comes before that. The rest of a password that
/// has another '@' would be a host, and the rest of one that has a '/' would be the database.
void refuse_open_password(std::string_view url) {
  const std::size_t authority = url.find("//");
  if (authority == std::string_view::npos) return;
  std::string_view rest = url.substr(authority + 2);
  const std::size_t stop = rest.find_first_of("@/");
  const bool has_user = stop != std::string_view::npos && rest[stop] == '@';
  if (has_user) rest.remove_prefix(stop + 1);
  const std::string_view hosts = rest.substr(0, rest.find_first_of("/?"));
  if (hosts.find('@') != std::string_view::npos) {
    refuse_url("URL: a host must not contain '@'; in a password write '@' as %40");
  }
  const std::string_view path = rest.substr(hosts.size());
  if (has_user || !hosts.empty()) base::refuse_open_password(path.substr(0, path.find('?')));
}

/// @return where the query begins, by its '?'. As libpq does: whatever comes before the '@' of the
/// authority is no query.
std::size_t query_of(std::string_view url) {
  const std::size_t authority = url.find("//");
  const std::size_t stop =
      authority == std::string::npos ? 0 : url.find_first_of("@/", authority + 2);
  return url.find('?', stop != std::string::npos && url[stop] == '@' ? stop : 0);
}

/// libpq's own words may quote a piece of a password, so ours say what is wrong.
[[noreturn]] void refuse_for_libpq(std::string_view url) {
  if (url.substr(url.find(':') + 1, 2) != "//") {
    refuse_url("URL: '//' is missing; write postgresql://host/database");
  }
  const std::size_t mark = query_of(url);
  std::string_view query = mark == std::string::npos ? std::string_view() : url.substr(mark + 1);
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    const std::string key(pair.substr(0, pair.find('=')));
    const bool word = key.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string::npos;
    if (word && !is_keyword(key)) {
      refuse_url("URL: unknown parameter; neither libpq nor Mortise has it");
    }
  }
  refuse_url(
      "URL: libpq cannot read it; check each parameter for a value, and each '%' for a valid "
      "escape; "
      "in a password write '/', '?', '@' and '%' as %2F, %3F, %40 and %25");
}

/// Takes our own parameters out of a URL's query, and leaves every other byte as it is.
Keywords take_ours(std::string& url) {
  Keywords taken;
  const std::size_t mark = query_of(url);
  if (mark == std::string::npos) return taken;
  std::string rest;
  std::string_view query = std::string_view(url).substr(mark + 1);
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    if (!pair.starts_with(ours)) {
      rest += (rest.empty() ? '?' : '&');
      rest += pair;
      continue;
    }
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos) {
      refuse_url("URL: a parameter that begins with mortise. has no value; write name=value");
    }
    taken.emplace_back(pair.substr(0, equals), pair.substr(equals + 1));
  }
  url = url.substr(0, mark) + rest;
  return taken;
}

bool yes_or_no(Literal key, const std::string& value) {
  if (value == "yes") return true;
  if (value == "no") return false;
  refuse_url({"URL: parameter ", key, " must be yes or no"});
}

void read_ours(const Keywords& taken, Settings& settings) {
  for (const auto& [key, value] : taken) {
    if (std::count_if(taken.begin(), taken.end(),
                      [&name = key](const auto& other) { return other.first == name; }) > 1) {
      refuse_url("URL: a parameter that begins with mortise. is given twice; remove one");
    }
    if (key == "mortise.schema") {
      check_identifier("URL: mortise.schema", value);
      settings.schema = value;
    } else if (key == "mortise.fair") {
      settings.fair = yes_or_no("mortise.fair", value);
    } else if (key == "mortise.pooled") {
      settings.pooled = yes_or_no("mortise.pooled", value);
    } else if (key == "mortise.connections") {
      const auto connections = base::whole_number<std::size_t>(value, 1, most_connections);
      if (!connections) refuse_url("URL: mortise.connections must be a number from 1 to 64");
      settings.connections = *connections;
    } else {
      refuse_url(
          "URL: unknown parameter; those that begin with mortise. are connections, fair, pooled "
          "and "
          "schema");
    }
  }
}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts(1);
  for (const char c : list) {
    if (c == ',') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

/// Takes a keyword out. @return its value; empty = not given
std::string take(Keywords& keywords, std::string_view key) {
  const auto found = std::find_if(keywords.begin(), keywords.end(),
                                  [&](const auto& each) { return each.first == key; });
  if (found == keywords.end()) return {};
  std::string value = std::move(found->second);
  keywords.erase(found);
  return value;
}

bool is_number(const std::string& host) {
  in6_addr bytes{};
  const std::string plain = host.substr(0, host.find('%'));
  return ::inet_pton(AF_INET, host.c_str(), &bytes) == 1 ||
         ::inet_pton(AF_INET6, plain.c_str(), &bytes) == 1;
}

Server server_of(const std::string& name, const std::string& number, const std::string& digits,
                 const Conninfo& libpq) {
  const auto port = base::whole_number<std::uint16_t>(digits, 1);
  if (!port) refuse(libpq.origin("port") + ": the port must be a number from 1 to 65535");
  if (!number.empty() && !is_number(number)) {
    refuse(libpq.origin("hostaddr") + ": hostaddr must be an IP address");
  }
  const bool is_path =
      number.empty() && (name.empty() || name.front() == '/' || name.front() == '@');
  // Also the name beside a number, which is that of the certificate.
  if (!is_path && !name.empty() && !base::Address::is_host(name)) {
    refuse(libpq.origin("host") +
           ": the host must be a name, an IP address or the directory of a socket");
  }
  Server host{.name = name};
  if (!number.empty() || (!name.empty() && name.front() != '/' && name.front() != '@')) {
    host.address = {.host = number.empty() ? name : number, .port = *port, .path = {}};
    return host;
  }
  if (name.empty()) host.name = default_socket_folder();
  host.address.path = host.name + "/.s.PGSQL." + digits;
  if (host.address.path.size() >= sizeof sockaddr_un::sun_path) {
    refuse(libpq.origin("host") + ": the path of the unix socket has " +
           std::to_string(host.address.path.size()) + " bytes; at most 107 are allowed");
  }
  return host;
}

/// libpq would look names up by itself, and block: we hand it addresses.
void read_hosts(Settings& settings, const Conninfo& libpq) {
  for (const char* const key : {"host", "hostaddr", "port"}) {
    if (std::string value = take(settings.keywords, key); !value.empty()) {
      settings.hosts.emplace_back(key, std::move(value));
    }
  }
  const auto list = [&](const char* key) {
    const std::string* const value = value_in(settings.hosts, key);
    return split(value == nullptr ? std::string() : *value);
  };
  const std::vector<std::string> names = list("host");
  const std::vector<std::string> addresses = list("hostaddr");
  const std::vector<std::string> ports = list("port");
  const std::size_t count = std::max(names.size(), addresses.size());
  if (ports.size() != 1 && ports.size() != count) {
    refuse(libpq.origin("port") + ": there must be one port, or one for each host");
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::string& port = ports.size() == 1 ? ports.front() : ports[i];
    settings.servers.push_back(server_of(i < names.size() ? names[i] : std::string(),
                                         i < addresses.size() ? addresses[i] : std::string(),
                                         port.empty() ? "5432" : port, libpq));
  }
}

/// What libpq finds out only when it has a socket, once for each try.
void refuse_what_never_connects(const Conninfo& libpq) {
  for (const char* const key : {"connect_timeout", "keepalives", "keepalives_idle",
                                "keepalives_interval", "keepalives_count", "tcp_user_timeout"}) {
    const std::string* const text = value_in(libpq.all(), key);
    if (text == nullptr || text->empty()) continue;
    if (!base::whole_number<int>(*text)) {
      refuse(libpq.origin(key) + ": " + key + " must be a whole number");
    }
  }
  const std::string* const wanted = value_in(libpq.all(), "target_session_attrs");
  if (wanted != nullptr && (*wanted == "standby" || *wanted == "read-only")) {
    refuse(libpq.origin("target_session_attrs") + ": target_session_attrs is '" + *wanted +
           "', but locks need a server that takes writes; use any, read-write, primary or "
           "prefer-standby");
  }
}

void complete(Settings& settings, const Conninfo& libpq) {
  settings.keywords = libpq.all();
  const auto otherwise = [&](const char* key, const char* value) {
    if (value_in(settings.keywords, key) == nullptr) settings.keywords.emplace_back(key, value);
  };
  otherwise("fallback_application_name", "mortise");
  // A server that has gone without a word is noticed in 20 s also where nothing is sent.
  otherwise("keepalives_idle", "10");
  otherwise("keepalives_interval", "3");
  otherwise("keepalives_count", "3");
  otherwise("tcp_user_timeout", "10000");
  // Looks for tickets of Kerberos, and asks its servers, while everything else waits.
  if (libpq.is_default("gssencmode")) {
    static_cast<void>(take(settings.keywords, "gssencmode"));
    settings.keywords.emplace_back("gssencmode", "disable");
  }
}

}  // namespace

void check_identifier(Literal what, const std::string& name) {
  const auto fine = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  };
  if (name.empty() || name.size() > longest_identifier ||
      !std::all_of(name.begin(), name.end(), fine) ||
      (name.front() >= '0' && name.front() <= '9')) {
    refuse_url({what, " must be an identifier of lower-case letters, digits and '_'"});
  }
}

Settings Settings::parse(std::string_view url) {
  const std::string scheme = base::url_scheme(url);
  if (scheme != "postgresql" && scheme != "postgres") {
    refuse_url("URL: not a PostgreSQL scheme; use postgresql or postgres");
  }
  // libpq would take a NUL for the end.
  base::refuse_control_characters(url);
  refuse_open_password(url);
  std::string text(url);
  Settings settings;
  read_ours(take_ours(text), settings);
  std::optional<Keywords> parsed = parse_url(text);
  if (!parsed) refuse_for_libpq(text);
  const Conninfo libpq(std::move(*parsed));
  if (const std::string why = libpq.refusal(); !why.empty()) refuse(why);
  refuse_what_never_connects(libpq);
  complete(settings, libpq);
  read_hosts(settings, libpq);
  return settings;
}

bool Settings::names_peer() const noexcept { return value_in(keywords, "requirepeer") != nullptr; }

std::string Settings::where() const {
  std::string text;
  for (const Server& host : servers) {
    text += (text.empty() ? "" : ", ");
    text += host.address.text();
  }
  return text;
}

}  // namespace mortise::postgres
