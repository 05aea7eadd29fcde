// SPDX-License-Identifier: MIT
// What a server must be is asked before the first lock rests on it. A replica, a server that
// evicts, or one too old would say yes to a script, and forget the lock afterwards.
#include "redis/connection/greeting.hpp"

#include "redis/store/command.hpp"
#include "redis/store/server_error.hpp"

#include <charconv>
#include <cstdint>
#include <utility>
#include <vector>

namespace mortise::redis {
namespace {

constexpr int oldest_major = 6;
constexpr int oldest_minor = 2;

/// @return the value of a line "key:value" of INFO; empty = no such line.
std::string_view field(std::string_view info, std::string_view key) {
  for (std::size_t at = 0; (at = info.find(key, at)) != std::string_view::npos; at += key.size()) {
    const bool begins = at == 0 || info[at - 1] == '\n';
    std::string_view rest = info.substr(at + key.size());
    if (!begins || !rest.starts_with(':')) continue;
    rest.remove_prefix(1);
    return rest.substr(0, rest.find_first_of("\r\n"));
  }
  return {};
}

/// @return 100 x major + minor; 0 = not a version.
int version_number(std::string_view text) {
  std::uint16_t major = 0;  // so that the sum cannot overflow, whatever the server says
  std::uint16_t minor = 0;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, major);
  if (first.ec != std::errc{} || first.ptr == end || *first.ptr != '.') return 0;
  const auto second = std::from_chars(first.ptr + 1, end, minor);
  return second.ec == std::errc{} ? major * 100 + minor : 0;
}

}  // namespace

Greeting::Greeting(const Settings& settings, const std::string& inbox)
    : eviction_accepted_(settings.eviction_accepted),
      of_cluster_(settings.is_cluster()),
      address_(settings.address),
      user_(settings.login.credentials.user) {
  if (const std::optional<std::string> password = settings.login.credentials.current()) {
    if (settings.login.credentials.user.empty()) {
      say({Step::authenticate}, {"AUTH", *password});
    } else {
      say({Step::authenticate}, {"AUTH", settings.login.credentials.user, *password});
    }
  }
  if (!settings.login.client_name.empty()) {
    say({Step::name}, {"CLIENT", "SETNAME", settings.login.client_name});
  }
  say({Step::server, "+info"}, {"INFO", "server"});
  if (inbox.empty()) {
    // A replica in a cluster executes nothing of ours, and says who does.
    if (!of_cluster_) say({Step::replication, "+info"}, {"INFO", "replication"});
    say({Step::memory, "+info"}, {"INFO", "memory"});
    // By its address it may be a server of another cluster by now.
    if (of_cluster_) say({Step::slots, "+cluster|slots"}, {"CLUSTER", "SLOTS"});
  }
  // Behind those: a sentinel, which has no databases, is to be told by its mode.
  if (settings.login.database != 0) {
    say({Step::select, "+select"}, {"SELECT", std::to_string(settings.login.database)});
  }
  // Before it listens: from then on there may be a message between two answers.
  for (const Trial& trial : trials(settings, inbox)) say(trial);
  if (inbox.empty()) return;
  say({Step::subscribe, "+subscribe", "&" + settings.prefix + "inbox:*"}, {"SUBSCRIBE", inbox});
}

void Greeting::say(Said said, std::initializer_list<std::string_view> words) {
  append_command(bytes_, {words.begin(), words.size()});
  said_.push_back(std::move(said));
}

void Greeting::say(const Trial& trial) {
  const std::vector<std::string_view> words(trial.words.begin(), trial.words.end());
  append_command(bytes_, words);
  said_.push_back({Step::trial, trial.right, trial.channel});
}

Failure Greeting::read(const std::string& where, const Reply& reply) {
  const Said said = std::move(said_.front());
  said_.pop_front();
  if (reply.is_error()) return refused(said, where, reply.text);
  return check(said.step, where, reply);
}

Failure Greeting::refused(const Said& said, const std::string& where,
                          const std::string& words) const {
  if (said.step == Step::authenticate) return refusal_of_auth(where, words).failure;
  const Refused what = what_is_refused(words);
  // A client name is a convenience. Without the permission for it the client goes on without a
  // name, and also behind a proxy that has no CLIENT command.
  const bool nameless = what != Refused::nothing || words.starts_with("ERR unknown");
  if (said.step == Step::name && nameless) return {};
  // A user with a narrow key pattern gets its refusal from the names that the pattern excludes.
  // Every other reply to a trial counts as allowed, because the request itself gets the real error.
  if (said.step == Step::trial && (what == Refused::nothing || what == Refused::key)) return {};
  Failure why = server_error(where, words).failure;
  if (what == Refused::nothing) return why;
  why.text += remedy(user_, what == Refused::channel ? said.channel : said.right);
  return why;
}

Failure Greeting::check(Step step, const std::string& where, const Reply& reply) {
  const auto status = [&]() -> Failure {
    if (reply.kind == Reply::Kind::status) return {};
    return {Errc::protocol, where + ": the reply is not from a Redis server; check host and port"};
  };
  switch (step) {
    case Step::authenticate:
    case Step::select:
    case Step::name: return status();
    case Step::server: return check_server(where, reply.text);
    case Step::replication:
      if (field(reply.text, "role") == "master") return {};
      return {Errc::unavailable, where + ": the server is not a master (its role is '" +
                                     std::string(field(reply.text, "role").substr(0, 20)) +
                                     "'); use the address of the master"};
    case Step::memory: {
      const std::string policy(field(reply.text, "maxmemory_policy").substr(0, 40));
      if (policy == "noeviction" || eviction_accepted_) return {};
      if (policy.empty()) {
        return {Errc::misconfigured,
                where +
                    ": INFO does not report maxmemory_policy, so the server may evict locks; if it"
                    " never evicts keys, add eviction=accepted to the URL"};
      }
      return {
          Errc::misconfigured,
          where + ": maxmemory-policy is '" + policy +
              "', so the server may evict locks; set it to noeviction, or add eviction=accepted to"
              " the URL"};
    }
    case Step::slots:
      facts_.cluster = parse_slots(reply, address_).value_or(SlotTable());
      return {};
    case Step::trial: return {};
    case Step::subscribe:
      if (reply.kind == Reply::Kind::array && reply.items.size() == 3 &&
          reply.items[0].text == "subscribe") {
        return {};
      }
      return {Errc::protocol, where + ": the server sent an invalid reply to SUBSCRIBE"};
  }
  return {};
}

Failure Greeting::check_server(const std::string& where, const std::string& info) {
  facts_.version = field(info, "redis_version").substr(0, 40);
  facts_.run_id = field(info, "run_id").substr(0, 64);
  const std::string_view time = field(info, "server_time_usec");
  std::from_chars(time.data(), time.data() + time.size(), facts_.time);
  if (facts_.run_id.empty()) {
    return {Errc::protocol,
            where + ": INFO reports no run_id; connect to a Redis or Valkey server directly"};
  }
  // Valkey's word for it is another one since 8.0.
  const auto is = [&](std::string_view mode) {
    return field(info, "redis_mode") == mode || field(info, "server_mode") == mode;
  };
  if (is("sentinel")) {
    return {Errc::misconfigured, where + ": this is a sentinel; use redis+sentinel:// for it"};
  }
  if (version_number(facts_.version) < oldest_major * 100 + oldest_minor) {
    return {Errc::unsupported,
            where + ": Redis " + facts_.version + " is too old; use Redis 6.2 or newer"};
  }
  if (is("cluster") && !of_cluster_) {
    return {Errc::misconfigured,
            where + ": this is a node of a cluster; use redis+cluster:// for it"};
  }
  if (!is("cluster") && of_cluster_) {
    return {Errc::misconfigured,
            where + ": this is not a node of a cluster; use redis:// for a single server"};
  }
  if (of_cluster_ && version_number(facts_.version) < 700) {
    return {Errc::unsupported, where + ": Redis " + facts_.version +
                                   " has no sharded channels, which a cluster needs; use Redis 7.0"
                                   " or newer"};
  }
  return {};
}

}  // namespace mortise::redis
