// SPDX-License-Identifier: MIT
// Without a check a missing permission shows late and badly. Up to Redis 7.0 a refusal inside a
// script does not name the command. A script that is refused halfway leaves a key without a time to
// live. And if a release may not publish, no error shows at all: each waiter is a second late. So
// the permissions of each user that logs in are probed first. The probes are the commands of the
// scripts: a server demands the same permissions for a command inside and outside a script (acl.c,
// ACLCheckAllPerm()), and outside it names the command in every version. No probe has an effect. A
// command that writes has too many arguments or an invalid number, which the server finds after it
// has checked the permission. No name can have the key, and no client the channel.
#include "redis/store/rights.hpp"

#include "redis/store/hearing.hpp"
#include "redis/store/lock_key.hpp"
#include "remote/outbox.hpp"

#include <algorithm>
#include <utility>

namespace mortise::redis {
namespace {

std::string inboxes_of(const Settings& settings) { return settings.prefix + "inbox:"; }

std::string right_to_inboxes(const Settings& settings) { return "&" + inboxes_of(settings) + "*"; }

constexpr std::string_view right_to_redissons_channels = "&redisson_lock__channel:*";

std::vector<Trial> trials_of_inbox(const Settings& settings, const std::string& inbox) {
  // No message is sent to the sharded channel that has the inbox's own name: see Requests.
  if (settings.is_cluster()) {
    return {{"+ssubscribe", {"SSUBSCRIBE", inbox}, right_to_inboxes(settings)},
            {"+sunsubscribe", {"SUNSUBSCRIBE", inbox}}};
  }
  if (settings.queue_mode != QueueMode::redisson) return {};
  return {{"+unsubscribe", {"UNSUBSCRIBE", inbox}}};
}

}  // namespace

std::vector<Trial> trials(const Settings& settings, const std::string& inbox) {
  if (!settings.login.credentials.has_password()) return {};
  if (!inbox.empty()) return trials_of_inbox(settings, inbox);
  const std::string key = lock_key(settings.prefix, remote::probed_name) + "?";
  const std::string nowhere(40, '0');
  const bool cluster = settings.is_cluster();
  std::vector<Trial> all{
      {"+evalsha", {"EVALSHA", nowhere, "1", key}},
      {"+time", {"TIME"}},
      {"+hget", {"HGET", key, "-"}},
      {"+hmget", {"HMGET", key, "-"}},
      {"+hset", {"HSET", key, "-", "-", "-"}},
      {"+hdel", {"HDEL", key, "-"}},
      {"+pexpire", {"PEXPIRE", key, "-"}},
      {cluster ? "+spublish" : "+publish",
       {cluster ? "SPUBLISH" : "PUBLISH", inboxes_of(settings) + "check", ""},
       right_to_inboxes(settings)},
  };
  const auto add = [&](const char* right, std::vector<std::string> words) {
    all.push_back({right, std::move(words)});
  };
  add("+pttl", {"PTTL", key});
  add("+zadd", {"ZADD", key, "-", "-"});
  add("+zrem", {"ZREM", key, "-"});
  add("+zrange", {"ZRANGE", key, "-", "-"});
  add("+zscore", {"ZSCORE", key, "-"});
  if (settings.queues) {
    add("+hincrby", {"HINCRBY", key, "-", "-"});
    add("+zrank", {"ZRANK", key, "-"});
    add("+zcard", {"ZCARD", key});
    add("+zcount", {"ZCOUNT", key, "-", "-"});
  } else {
    add("+zmscore", {"ZMSCORE", key, "-"});
  }
  if (settings.replicas > 0) add("+wait", {"WAIT", "0", "0"});
  if (cluster) {
    add("+asking", {"ASKING"});
    add("+cluster|slots", {"CLUSTER", "SLOTS"});  // behind that: it is for the next command
  }
  if (settings.queue_mode == QueueMode::redisson) {
    add("+hexists", {"HEXISTS", key, "-"});
    add("+hlen", {"HLEN", key});
    add("+hkeys", {"HKEYS", key});
    add("+del", {"DEL", key});
    all.push_back({"+publish",
                   {"PUBLISH", redisson_channel(remote::probed_name), ""},
                   std::string(right_to_redissons_channels)});
  }
  return all;
}

// Recognizes refusals of the server itself and refusals inside a script, from Redis 6.2 to
// Valkey 8. The command comes first, because its name may be HKEYS.
Refused what_is_refused(std::string_view words) noexcept {
  const auto has = [&](std::string_view part) {
    return words.find(part) != std::string_view::npos;
  };
  if (!words.starts_with("NOPERM") && !has("ACL failure in script") &&
      !has("The user executing the script")) {
    return Refused::nothing;
  }
  if (has(" run ")) return Refused::command;
  if (has(" channel")) return Refused::channel;
  return has(" key") ? Refused::key : Refused::command;
}

std::string_view rights_beside(Call::Kind kind) noexcept {
  return kind == Call::Kind::list ? "+scan" : "";
}

std::string remedy(std::string_view user, std::string_view right) {
  std::string text = "; user '";
  return text.append(user.empty() ? "default" : user).append("' needs ").append(right);
}

std::string remedy(const Settings& settings, std::string_view words, std::string_view beside) {
  const bool redisson = settings.queue_mode == QueueMode::redisson;
  const std::string_view user = settings.login.credentials.user;
  switch (what_is_refused(words)) {
    case Refused::nothing: return {};
    case Refused::key:
      return remedy(user, "~" + settings.prefix + "*") +
             (redisson ? " and key patterns (~) for the names of its locks" : "");
    case Refused::channel:
      return remedy(user, right_to_inboxes(settings)) +
             (redisson ? " and " + std::string(right_to_redissons_channels) : "");
    case Refused::command: break;
  }
  // Before 7.2 the refusal of a script does not name the command.
  constexpr std::string_view before = "run the '";
  if (const std::size_t at = words.find(before); at != std::string_view::npos) {
    const std::string_view rest = words.substr(at + before.size());
    return remedy(user, "+" + std::string(rest.substr(0, std::min(rest.find('\''), rest.size()))));
  }
  if (!beside.empty()) return remedy(user, beside);
  std::string all;
  Settings named = settings;
  named.login.credentials.password.emplace();
  for (const Trial& trial : trials(named, {})) {
    all.append(all.empty() ? "" : " ").append(trial.right);
  }
  return remedy(user, "all of " + all);
}

}  // namespace mortise::redis
