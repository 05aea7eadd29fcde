// SPDX-License-Identifier: MIT
// An address that is named twice would vote twice, and one or two servers are no quorum: both are
// refused.
#include "redlock/settings.hpp"

#include <mortise/error.hpp>

#include "base/url.hpp"

#include <algorithm>

namespace mortise::redlock {
namespace {

constexpr std::size_t fewest = 3;
constexpr std::size_t most = 15;

using base::refuse_url;

std::vector<base::Address> sockets_of(const base::Url& url) {
  if (!url.hosts().empty() || url.path().empty()) {
    refuse_url(
        "URL: redlock+unix needs paths of sockets; write "
        "redlock+unix:///run/a.sock,/run/b.sock,...");
  }
  std::vector<base::Address> addresses;
  std::string_view rest = url.path();
  while (!rest.empty()) {
    const std::string_view path = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(path.size() + 1, rest.size()));
    addresses.push_back(base::Address::of_socket(std::string(path), "redlock"));
  }
  return addresses;
}

std::vector<base::Address> addresses_of(const base::Url& url) {
  if (url.scheme() == "redlock+unix") return sockets_of(url);
  if (!url.has_authority()) refuse_url("URL: '//' is missing; write redlock://a,b,c");
  std::vector<base::Address> addresses;
  for (const std::string& host : url.hosts()) {
    addresses.push_back(base::Address::parse(host, "redlock", 6379));
  }
  return addresses;
}

}  // namespace

Settings Settings::parse(std::string_view text) {
  base::Url url(text);
  if (url.scheme() != "redlock" && url.scheme() != "redlocks" && url.scheme() != "redlock+unix") {
    refuse_url("URL: not a Redlock scheme; use redlock, redlocks or redlock+unix");
  }
  const std::vector<base::Address> addresses = addresses_of(url);
  if (addresses.size() < fewest || addresses.size() > most) {
    refuse_url(
        "URL: redlock needs 3 to 15 servers, because a majority must survive the loss of one; "
        "for a single server use redis://");
  }
  redis::Settings common;
  redis::read_manners(url, "redlocks", common);
  common.queues = false;
  url.refuse_the_rest();
  Settings settings;
  for (const base::Address& address : addresses) {
    const auto same = std::find_if(
        settings.nodes.begin(), settings.nodes.end(),
        [&](const redis::Settings& other) { return other.address.text() == address.text(); });
    if (same != settings.nodes.end()) {
      refuse_url("URL: a server is named twice; name each server once");
    }
    settings.nodes.push_back(common);
    settings.nodes.back().address = address;
  }
  return settings;
}

std::string Settings::text() const {
  std::string text = "redlock";
  char separator = ' ';
  for (const redis::Settings& node : nodes) {
    text += separator + node.address.text();
    separator = ',';
  }
  return text;
}

}  // namespace mortise::redlock
