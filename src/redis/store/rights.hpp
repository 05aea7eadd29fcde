// SPDX-License-Identifier: MIT
// What a user of the server has to be allowed, how that is tried without an effect, and what is to
// be granted to one who is refused.
#pragma once

#include "redis/store/call.hpp"
#include "redis/store/settings.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace mortise::redis {

/// A command that changes nothing as we send it, and that a server refuses whoever may not call it.
struct Trial {
  std::string right;               ///< as ACL SETUSER has it: "+hset"
  std::vector<std::string> words;  ///< what is sent
  std::string channel = {};        ///< the right to it, where it has one: "&mortise:inbox:*"
};

/// @param inbox the channel that the connection will listen to; empty = it is one for commands
/// @return what is tried at the beginning of a connection: nothing where nobody logs in, who may do
/// everything, as a rule.
[[nodiscard]] std::vector<Trial> trials(const Settings& settings, const std::string& inbox);

/// What a refusal is about, as its words tell.
enum class Refused { nothing, command, key, channel };
[[nodiscard]] Refused what_is_refused(std::string_view words) noexcept;

/// @return what a script needs beside what all do.
[[nodiscard]] std::string_view rights_beside(Call::Kind kind) noexcept;
/// @return "; user 'shop' needs +hset", for the end of a message.
[[nodiscard]] std::string remedy(std::string_view user, std::string_view right);
/// The same of a refusal by these words; empty where they are none.
/// @param beside what the request needs that others do not
[[nodiscard]] std::string remedy(const Settings& settings, std::string_view words,
                                 std::string_view beside = {});

}  // namespace mortise::redis
