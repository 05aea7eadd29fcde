// SPDX-License-Identifier: MIT
// A right that is missing shows where it is used: by a script, which Redis up to 7.0 does not tell
// which of its commands was refused; halfway through one, so that the key has no time to live; or
// by nothing at all, where a release may not publish, and each waiter comes a second late. So who
// logs in is looked at first. The commands are those of the scripts, since a server asks the same
// rights for them wherever they are called (acl.c, ACLCheckAllPerm()), and by themselves they are
// named in each version. None has an effect: what writes has too many words, or no number where one
// belongs, which is found after the right was checked; the key is one that no name can have, and
// the channel one that no client has.
#include "redis/rights.hpp"

#include "redis/hearing.hpp"
#include "redis/lock_key.hpp"
#include "remote/outbox.hpp"

#include <algorithm>
#include <utility>

namespace mortise::redis {
namespace {

std::string inboxes_of(const Settings& settings) { return settings.prefix + "inbox:"; }

std::string right_to_inboxes(const Settings& settings) { return "&" + inboxes_of(settings) + "*"; }

constexpr std::string_view right_to_redissons_channels = "&redisson_lock__channel:*";

std::vector<Trial> trials_of_inbox(const Settings& settings, const std::string& inbox) {
  // Nothing is told by the sharded channel that has the inbox's own name: see Requests.
  if (settings.is_cluster()) {
    return {{"+ssubscribe", {"SSUBSCRIBE", inbox}, right_to_inboxes(settings)},
            {"+sunsubscribe", {"SUNSUBSCRIBE", inbox}}};
  }
  if (settings.queue_mode != QueueMode::redisson) return {};
  return {{"+unsubscribe", {"UNSUBSCRIBE", inbox}}};
}

}  // namespace

std::vector<Trial> trials(const Settings& settings, const std::string& inbox) {
  if (!settings.credentials.has_password()) return {};
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
  if (settings.queues) {
    add("+hincrby", {"HINCRBY", key, "-", "-"});
    add("+pttl", {"PTTL", key});
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

// The words of a refusal by the server itself, and of one inside a script, from 6.2 to Valkey 8. A
// command is asked about first: its name may be HKEYS.
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

std::string_view rights_beside(const Settings& settings, Call::Kind kind) noexcept {
  if (kind != Call::Kind::list) return {};
  return settings.queue_mode == QueueMode::redisson ? "+scan and +exists" : "+scan";
}

std::string remedy(std::string_view user, std::string_view right) {
  std::string text = "; user '";
  return text.append(user.empty() ? "default" : user).append("' needs ").append(right);
}

std::string remedy(const Settings& settings, std::string_view words, std::string_view beside) {
  const bool redisson = settings.queue_mode == QueueMode::redisson;
  const std::string_view user = settings.credentials.user;
  switch (what_is_refused(words)) {
    case Refused::nothing: return {};
    case Refused::key:
      return remedy(user, "~" + settings.prefix + "*") +
             (redisson ? ", and ~ with the names of its locks" : "");
    case Refused::channel:
      return remedy(user, right_to_inboxes(settings)) +
             (redisson ? " and " + std::string(right_to_redissons_channels) : "");
    case Refused::command: break;
  }
  // A script is not told which of its commands before 7.2.
  constexpr std::string_view before = "run the '";
  if (const std::size_t at = words.find(before); at != std::string_view::npos) {
    const std::string_view rest = words.substr(at + before.size());
    return remedy(user, "+" + std::string(rest.substr(0, std::min(rest.find('\''), rest.size()))));
  }
  if (!beside.empty()) return remedy(user, beside);
  std::string all;
  Settings named = settings;
  named.credentials.password.emplace();
  for (const Trial& trial : trials(named, {})) {
    all.append(all.empty() ? "" : " ").append(trial.right);
  }
  return remedy(user, "all of " + all);
}

}  // namespace mortise::redis
