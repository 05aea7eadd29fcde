// SPDX-License-Identifier: MIT
#include "simulation/redis/rules.hpp"

namespace simulation::redis {
namespace {

// With the sign in front, as a script gets them.
constexpr std::string_view no_memory = "-OOM command not allowed when used memory > 'maxmemory'.";
constexpr std::string_view read_only = "-READONLY You can't write against a read only replica.";
constexpr std::string_view no_disk =
    "-MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to "
    "disk. Commands that may modify the data set are disabled, because this instance is configured "
    "to report errors during writes if RDB snapshotting fails (stop-writes-on-bgsave-error "
    "option). Please check the Redis logs for details about the RDB error.";

std::string without_sign(std::string_view words) { return std::string(words.substr(1)); }

}  // namespace

std::string refusal(const ServerState& server, const Session& session, const Command& command,
                    std::span<const std::string_view> words) {
  const Faults& faults = server.faults;
  const auto has = [&command](unsigned flag) { return (command.flags & flag) != 0; };
  if (!session.logged_in && !has(before_login)) return "NOAUTH Authentication required.";
  if (faults.denied.contains(command.name)) {
    return "NOPERM this user has no permissions to run the '" + std::string(command.name) +
           "' command";
  }
  if (server.slots.is_part()) {
    if (std::string elsewhere = server.slots.redirection(session, command, words);
        !elsewhere.empty()) {
      return elsewhere;
    }
  }
  if (faults.no_memory && has(denied_without_memory)) return without_sign(no_memory);
  if (faults.no_disk && (has(writes) || command.name == "ping")) return without_sign(no_disk);
  if (faults.replica && has(writes)) return without_sign(read_only);
  if (session.listens && !has(while_listening)) {
    return "ERR Can't execute '" + std::string(command.name) +
           "': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this "
           "context";
  }
  if (faults.loading && !has(while_loading)) {
    return "LOADING Redis is loading the dataset in memory";
  }
  if (faults.busy && !has(while_busy)) {
    return "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.";
  }
  return {};
}

std::string_view refusal_in_script(const ServerState& server, const Command& command,
                                   bool has_written) {
  const Faults& faults = server.faults;
  if ((command.flags & not_in_scripts) != 0) return "This Redis command is not allowed from script";
  if (faults.denied.contains(command.name)) {
    return "The user executing the script can't run this command or subcommand";
  }
  if (has_written) return {};
  if ((command.flags & writes) != 0) {
    if (faults.replica) return read_only;
    if (faults.no_disk) return no_disk;
  }
  if (faults.no_memory && (command.flags & denied_without_memory) != 0) return no_memory;
  return {};
}

}  // namespace simulation::redis
