// SPDX-License-Identifier: MIT
// The Lua scripts of src/redis/scripts, as the server gets them.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace mortise::redis {

struct Script {
  std::string_view name;  ///< of its file
  std::string_view sha;   ///< by which it is called; the server may have forgotten it (NOSCRIPT)
  std::string_view text;  ///< then it is sent whole
  std::string_view cluster_sha = {};  ///< of the form for a cluster: see cmake/RedisScripts.cmake
};
/// What a script says otherwise there.
struct ScriptReplacement {
  std::string_view plain;
  std::string_view sharded;
};
/// @return the text for a cluster.
[[nodiscard]] std::string cluster_text(const Script& script);

// Made by cmake/RedisScripts.cmake, one of each file.
namespace scripts {
extern const Script acquire;
extern const Script ask;
extern const Script cancel;
extern const Script force_release;
extern const Script inspect;
extern const Script list;
extern const Script queue;
extern const Script release;
extern const Script renew;
extern const std::array<ScriptReplacement, 2> of_cluster;
/// Of keys with a memory: scripts/once.
namespace once {
extern const Script begin;
extern const Script cancel;
extern const Script conclude;
extern const Script force_release;
extern const Script queue;
extern const Script recall;
}  // namespace once
}  // namespace scripts

}  // namespace mortise::redis
