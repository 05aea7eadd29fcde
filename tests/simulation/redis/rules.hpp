// SPDX-License-Identifier: MIT
// Whether a command may run now: processCommand() of server.c, and scriptCall() of script.c, in
// their order.
#pragma once

#include "simulation/redis/command.hpp"

#include <span>
#include <string>
#include <string_view>

namespace simulation::redis {

/// @return why a connection's command may not run: "LOADING ..."; empty = it may
[[nodiscard]] std::string refusal(const ServerState& server, const Session& session,
                                  const Command& command, std::span<const std::string_view> words);

/// @param has_written the script that calls it has run a command that writes: then nothing is
/// refused any more for the state of the server
/// @return why a script's command may not run: "-READONLY ...", or words without a code
[[nodiscard]] std::string_view refusal_in_script(const ServerState& server, const Command& command,
                                                 bool has_written);

}  // namespace simulation::redis
