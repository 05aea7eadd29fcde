// SPDX-License-Identifier: MIT
// The shipped Lua scripts, and the parts that they include, file by file.
#pragma once

#include <span>
#include <string_view>

namespace simulation::redis {

struct ScriptFile {
  std::string_view name;           ///< "redis/acquire.lua", or of a part "redis/part/open.lua"
  std::string_view text;           ///< as the server gets it: without comments and indentation
  std::string_view sha{};          ///< by which the server calls it
  std::string_view cluster_sha{};  ///< the same in a cluster
};

/// @return all of them, made by ScriptFiles.cmake
[[nodiscard]] std::span<const ScriptFile> script_files();

}  // namespace simulation::redis
