// SPDX-License-Identifier: MIT
// The files of which the shipped Lua scripts are made, one by one; the shipped client sends them
// joined.
#pragma once

#include <span>
#include <string_view>

namespace simulation::redis {

struct ScriptFile {
  std::string_view name;  ///< "redis/lock.lua"
  std::string_view text;  ///< as the server gets it: without comments and indentation
};

/// @return all of them, made by ScriptFiles.cmake
[[nodiscard]] std::span<const ScriptFile> script_files();

}  // namespace simulation::redis
