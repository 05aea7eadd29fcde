// SPDX-License-Identifier: MIT
// What is not understood is refused: a parameter that is misspelt, or a prefix that another client
// reads otherwise, would silently be another lock.
#include "redis/store/settings.hpp"

#include <mortise/error.hpp>

#include "base/url.hpp"
#include "base/whole_number.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace mortise::redis {
namespace {

constexpr int most_databases = 1 << 20;
constexpr std::size_t longest_prefix = 128;

using base::refuse_url;

int database_of(std::string_view text, base::Literal where) {
  const auto number = base::whole_number<int>(text, 0, most_databases - 1);
  if (!number) {
    refuse_url({"URL: the database in the ", where, " must be a number from 0 to 1048575"});
  }
  return *number;
}

bool printable(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

bool is_by_sentinels(const base::Url& url) {
  return url.scheme() == "redis+sentinel" || url.scheme() == "rediss+sentinel";
}

// "/master" or "/master/2".
void read_master(base::Url& url, Settings& settings) {
  constexpr std::size_t longest_master = 128;
  constexpr std::uint16_t usual_port = 26379;
  if (url.hosts().empty()) {
    refuse_url("URL: no sentinels; write redis+sentinel://host,host,host/master");
  }
  SentinelSettings sentinels;
  for (const std::string& host : url.hosts()) {
    sentinels.addresses.push_back(base::Address::parse(host, "sentinel", usual_port));
  }
  std::string_view path = url.path();
  if (path.starts_with('/')) path.remove_prefix(1);
  const std::size_t slash = path.find('/');
  sentinels.master = path.substr(0, slash);
  if (sentinels.master.empty()) {
    refuse_url(
        "URL: the name of the master is missing; write redis+sentinel://host,host,host/master");
  }
  if (!printable(sentinels.master) || sentinels.master.size() > longest_master) {
    refuse_url("URL: the name of the master must have at most 128 visible characters");
  }
  if (slash != std::string_view::npos) {
    settings.login.database = database_of(path.substr(slash + 1), "path");
  }
  sentinels.credentials = remote::Credentials::of(url, "sentinel-");
  if (!sentinels.credentials.user.empty() && !sentinels.credentials.has_password()) {
    refuse_url("URL: sentinel-user needs sentinel-password-file or sentinel-password-env");
  }
  settings.sentinels = std::move(sentinels);
}

void read_place(base::Url& url, Settings& settings) {
  if (url.scheme() == "redis+unix") {
    if (!url.hosts().empty() || url.path().size() < 2) {
      refuse_url("URL: redis+unix needs the path of a socket; write redis+unix:///run/redis.sock");
    }
    settings.address = base::Address::of_socket(url.path(), "redis");
  } else {
    if (!url.has_authority()) {
      refuse_url("URL: '//' is missing; write redis://host:port");
    }
    if (is_by_sentinels(url)) return read_master(url, settings);
    if (url.hosts().size() != 1) {
      refuse_url(
          "URL: redis:// and rediss:// need exactly one host; for several servers use redlock://, "
          "redis+sentinel:// or redis+cluster://");
    }
    settings.address = base::Address::parse(url.hosts().front(), "redis", 6379);
  }
}

bool is_of_cluster(const base::Url& url) {
  return url.scheme() == "redis+cluster" || url.scheme() == "rediss+cluster";
}

void read_seeds(const base::Url& url, Settings& settings) {
  if (url.hosts().empty()) {
    refuse_url("URL: no servers of the cluster; write redis+cluster://host:port,host:port");
  }
  for (const std::string& host : url.hosts()) {
    settings.seeds.push_back(base::Address::parse(host, "redis", 6379));
  }
  settings.address = settings.seeds.front();
}

// What a cluster does not have, or does otherwise.
void refuse_in_cluster(const Settings& settings) {
  if (settings.login.database != 0)
    refuse_url("URL: a cluster has only database 0; remove the database");
  if (settings.queue_mode == QueueMode::redisson) {
    refuse_url(
        "URL: interop=redisson supports one server only, because in a cluster Redisson sends each"
        " release to every server",
        Errc::unsupported);
  }
  if (settings.replicas != 0) {
    refuse_url("URL: replicas is not available in a cluster; use redis+sentinel://",
               Errc::unsupported);
  }
}

void read_database(base::Url& url, Settings& settings) {
  // The path of a unix socket is no database.
  bool in_path = url.has_authority() && !url.hosts().empty() && url.path().size() > 1;
  if (settings.sentinels) {
    in_path = url.path().find('/', 1) != std::string::npos;  // see read_master()
  } else if (in_path) {
    settings.login.database = database_of(url.path().substr(1), "path");
  }
  if (const auto number = url.take("db")) {
    if (in_path) refuse_url("URL: the database is given in the path and as db; remove one");
    settings.login.database = database_of(*number, "query");
  }
}

void read_credentials(base::Url& url, remote::Credentials& credentials) {
  credentials = remote::Credentials::of(url);
  if (!credentials.user.empty() && !credentials.has_password()) {
    refuse_url(
        "URL: the user has no password; write user:password@, or use password-file or"
        " password-env");
  }
}

void read_habits(base::Url& url, Settings& settings) {
  if (const auto name = url.take("client-name")) settings.login.client_name = *name;
  if (!printable(settings.login.client_name)) {
    refuse_url("URL: client-name must consist of visible characters without spaces");
  }
  if (const auto prefix = url.take("prefix")) settings.prefix = *prefix;
  const bool braces = settings.prefix.find_first_of("{}") != std::string::npos;
  if (!printable(settings.prefix) || braces || settings.prefix.size() > longest_prefix) {
    refuse_url("URL: prefix must have at most 128 visible characters and no braces");
  }
  if (const auto eviction = url.take("eviction")) {
    if (*eviction != "accepted") refuse_url("URL: eviction must be 'accepted' or absent");
    settings.eviction_accepted = true;
  }
}

void read_queue_mode(base::Url& url, Settings& settings) {
  if (!url.take_flag("fair", true)) settings.queue_mode = QueueMode::unfair;
  if (const auto other = url.take("interop")) {
    if (*other != "redisson") refuse_url("URL: interop must be 'redisson' or absent");
    if (settings.queue_mode == QueueMode::unfair) {
      refuse_url("URL: fair=no and interop exclude each other; remove one");
    }
    settings.queue_mode = QueueMode::redisson;
  }
}

void read_memory(base::Url& url, Settings& settings) {
  constexpr int least = 60;
  constexpr int most = 365 * 86'400;
  const auto text = url.take("remember");
  if (!text) return;
  const auto seconds = base::whole_number<int>(*text, least, most);
  if (!seconds) refuse_url("URL: remember must be a number of seconds from 60 to 31536000");
  settings.remembered = *seconds;
}

void read_replicas(base::Url& url, Settings& settings) {
  const auto text = url.take("replicas");
  if (!text) return;
  if (text->size() != 1 || text->front() < '0' || text->front() > '8') {
    refuse_url("URL: replicas must be a number from 0 to 8");
  }
  settings.replicas = text->front() - '0';
}

}  // namespace

Settings Settings::parse(std::string_view text) {
  base::Url url(text);
  const bool of_cluster = is_of_cluster(url);
  if (url.scheme() != "redis" && url.scheme() != "rediss" && url.scheme() != "redis+unix" &&
      !of_cluster && !is_by_sentinels(url)) {
    refuse_url(
        "URL: not a Redis scheme; use redis, rediss, redis+unix, redis+sentinel, "
        "rediss+sentinel, redis+cluster or rediss+cluster");
  }
  Settings settings;
  if (of_cluster) {
    read_seeds(url, settings);
  } else {
    read_place(url, settings);
  }
  const base::Literal by_sentinels =
      is_by_sentinels(url) ? base::Literal("rediss+sentinel") : base::Literal("rediss");
  read_manners(url, of_cluster ? base::Literal("rediss+cluster") : by_sentinels, settings);
  read_queue_mode(url, settings);
  read_memory(url, settings);
  read_replicas(url, settings);
  url.refuse_the_rest();
  if (of_cluster) refuse_in_cluster(settings);
  return settings;
}

std::string Settings::where() const {
  if (!sentinels) return "redis " + address.text();
  std::string text = "redis " + sentinels->master + " of ";
  for (const base::Address& each : sentinels->addresses) {
    if (&each != &sentinels->addresses.front()) text += ',';
    text += each.text();
  }
  return text;
}

void read_manners(base::Url& url, base::Literal encrypted, Settings& settings) {
  read_database(url, settings);
  read_credentials(url, settings.login.credentials);
  settings.tls = remote::read_tls(url, encrypted);
  read_habits(url, settings);
}

}  // namespace mortise::redis
