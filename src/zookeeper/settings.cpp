// SPDX-License-Identifier: MIT
// What a URL may say of a ZooKeeper ensemble; whatever else it says is refused.
#include "zookeeper/settings.hpp"

#include <mortise/error.hpp>

#include "base/url.hpp"

#include <algorithm>
#include <charconv>

namespace mortise::zookeeper {
namespace {

using std::chrono::milliseconds;

// The path of a node costs its session's budget, and each list and watch.
constexpr std::size_t longest_root = 200;
constexpr std::size_t most_servers = 32;
constexpr base::Literal encrypted = "zookeeper+tls";
constexpr std::uint16_t usual_port = 2181;
constexpr std::uint16_t usual_port_for_tls = 2281;  // of ZooKeeper's own pages
constexpr milliseconds shortest_session{100};
constexpr milliseconds longest_session{24 * 60 * 60 * 1'000};

using base::refuse_url;

milliseconds duration(base::Literal key, std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (error == std::errc{} && number >= 0 && number <= longest_session.count()) {
    if (unit == "ms") return milliseconds(number);
    if (unit == "s") return milliseconds(number * 1'000);
  }
  refuse_url({"URL: ", key, " must be a time such as 10s or 500ms, at most 24 h"});
}

/// Only what every client and shell shows alike; ZooKeeper itself allows more.
bool plain(char c) noexcept { return c > ' ' && c < 0x7f && c != '"' && c != '\'' && c != '\\'; }

void check_root(const std::string& root) {
  if (root.size() > longest_root) refuse_url("URL: the path must have at most 200 bytes");
  if (!std::all_of(root.begin(), root.end(), plain)) {
    refuse_url(
        "URL: the path must consist of visible ASCII characters without quotation marks and '\\'");
  }
  std::string_view rest = root;
  for (bool first = true; !rest.empty(); first = false) {
    rest.remove_prefix(1);  // the slash
    const std::string_view part = rest.substr(0, rest.find('/'));
    rest.remove_prefix(part.size());
    if (part.empty() || part == "." || part == "..") {
      refuse_url("URL: no part of the path may be empty, '.' or '..'");
    }
    if (first && part == "zookeeper") {
      refuse_url("URL: the path /zookeeper belongs to the server; use another one");
    }
  }
}

void read_place(base::Url& url, Settings& settings) {
  if (!url.has_authority()) refuse_url("URL: '//' is missing; write zookeeper://a,b,c/locks");
  if (url.hosts().empty()) refuse_url("URL: the host is missing; write zookeeper://a,b,c/locks");
  if (url.hosts().size() > most_servers) refuse_url("URL: at most 32 hosts are allowed");
  const std::uint16_t port = url.scheme() == encrypted.text() ? usual_port_for_tls : usual_port;
  for (const std::string& host : url.hosts()) {
    settings.servers.push_back(base::Address::parse(host, "zookeeper", port));
  }
  if (!url.path().empty()) {
    settings.root = url.path();
    if (settings.root.back() == '/') settings.root.pop_back();
    if (settings.root.empty()) refuse_url("URL: the path must not be /; use one such as /locks");
    check_root(settings.root);
  }
}

void read_credentials(base::Url& url, remote::Credentials& credentials) {
  credentials = remote::Credentials::of(url);
  if (credentials.user.empty() == credentials.has_password()) {
    refuse_url("URL: user and password must be given together");
  }
  if (credentials.user.find(':') != std::string::npos) {
    refuse_url("URL: the user name must not contain ':'");
  }
}

void read_habits(base::Url& url, Settings& settings) {
  if (const auto session = url.take("session")) {
    settings.session = duration("session", *session);
    if (settings.session < shortest_session || settings.session > longest_session) {
      refuse_url("URL: session must be 100ms to 24 h");
    }
  }
  if (const auto margin = url.take("margin")) {
    settings.margin = duration("margin", *margin);
    if (settings.margin < least_margin) refuse_url("URL: margin must be at least 20ms");
  }
  if (settings.margin * 2 > settings.session) {
    refuse_url(
        "URL: margin must be at most half of session; use a longer session, or a shorter margin "
        "(1s by default)");
  }
  const bool known = !settings.credentials.user.empty();
  const bool certified = settings.tls && !settings.tls->certificate.empty();
  const std::string acl = url.take("acl").value_or(known ? "creator" : "world");
  if (acl != "world" && acl != "creator") {
    refuse_url("URL: acl must be world or creator");
  }
  settings.creator_only = acl == "creator";
  if (settings.creator_only && !known && !certified) {
    refuse_url("URL: acl=creator needs a user and a password, or cert and key with zookeeper+tls");
  }
}

void read_interop(base::Url& url, Settings& settings) {
  const std::string interop = url.take("interop").value_or("mutex");
  if (interop == "readwrite") {
    settings.naming = Naming::read_write;
  } else if (interop == "kazoo") {
    settings.naming = Naming::kazoo;
  } else if (interop != "mutex") {
    refuse_url("URL: interop must be mutex, readwrite or kazoo");
  }
}

void refuse_what_is_not_there(const base::Url& url) {
  if (url.has("tls")) refuse_url("URL: there is no parameter tls; write zookeeper+tls://");
  for (const base::Literal key : {base::Literal("sasl"), base::Literal("mechanism"),
                                  base::Literal("principal"), base::Literal("keytab")}) {
    if (url.has(key.text())) {
      refuse_url({"URL: ", key,
                  " is not available, because this build has no SASL; use a user and a password "
                  "(digest)"});
    }
  }
}

}  // namespace

std::optional<std::string> Settings::digest() const {
  if (credentials.user.empty()) return std::nullopt;
  return credentials.user + ":" + credentials.current().value_or("");
}

Settings Settings::parse(std::string_view text) {
  base::Url url(text);
  if (url.scheme() != "zookeeper" && url.scheme() != encrypted.text()) {
    refuse_url("URL: not a ZooKeeper scheme; use zookeeper or zookeeper+tls");
  }
  Settings settings;
  read_place(url, settings);
  read_credentials(url, settings.credentials);
  refuse_what_is_not_there(url);
  settings.tls = remote::read_tls(url, encrypted);
  read_habits(url, settings);
  read_interop(url, settings);
  url.refuse_the_rest();
  return settings;
}

std::string Settings::text() const {
  std::string out;
  for (const base::Address& server : servers) {
    if (!out.empty()) out += ',';
    out += server.text();
  }
  return out;
}

}  // namespace mortise::zookeeper
