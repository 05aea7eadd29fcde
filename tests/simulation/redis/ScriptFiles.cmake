# SPDX-License-Identifier: MIT
# Makes C++ of every file of src/redis/scripts and src/redlock/scripts as the servers get its text:
# without comments and indentation (cmake/RedisScripts.cmake), so that a mutant can name a file.
include(RedisScripts)
file(GLOB script_files CONFIGURE_DEPENDS
    "${PROJECT_SOURCE_DIR}/src/redis/scripts/*.lua"
    "${PROJECT_SOURCE_DIR}/src/redis/scripts/*/*.lua" "${PROJECT_SOURCE_DIR}/src/redlock/scripts/*.lua")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${script_files})
set(rows)
foreach(file IN LISTS script_files)
    mortise_read_script(text "${file}")
    string(REGEX REPLACE "^.*/src/([a-z]+)/scripts/" "\\1/" name "${file}")
    string(SHA1 sha "${text}")
    mortise_script_of_cluster(sharded "${text}")
    string(SHA1 cluster_sha "${sharded}")
    string(APPEND rows "    {\"${name}\", R\"lua(${text})lua\", \"${sha}\", \"${cluster_sha}\"},\n")
endforeach()
set(script_files_source "${PROJECT_BINARY_DIR}/generated/simulation_script_files.cpp")
file(CONFIGURE OUTPUT "${script_files_source}" @ONLY CONTENT [[
// SPDX-License-Identifier: MIT
// Generated of src/redis/scripts and src/redlock/scripts: do not edit.
#include "simulation/redis/script_files.hpp"

#include <array>

namespace simulation::redis {
namespace {

constexpr auto files = std::to_array<ScriptFile>({
@rows@});

}  // namespace

std::span<const ScriptFile> script_files() { return files; }

}  // namespace simulation::redis
]])
