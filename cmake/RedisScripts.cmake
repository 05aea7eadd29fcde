# SPDX-License-Identifier: MIT
# Makes C++ of the Lua scripts of src/redis/scripts: of each X.lua, X_quick.lua if there is one, then
# lock.lua, then X.lua, without comments and indentation, with its SHA-1, by which the server calls
# it.
set(folder "${PROJECT_SOURCE_DIR}/src/redis/scripts")
file(GLOB scripts CONFIGURE_DEPENDS "${folder}/*.lua")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${scripts})
list(FILTER scripts EXCLUDE REGEX "/lock\\.lua$|_quick\\.lua$")

function(mortise_read_script out file)
    file(READ "${file}" text)
    string(REGEX REPLACE "(^|\n)[ ]*--[^\n]*" "\\1" text "${text}")
    string(REGEX REPLACE "[ ]+-- [^\n]*" "" text "${text}")
    string(REGEX REPLACE "\n[ \n]+" "\n" text "${text}")
    string(REGEX REPLACE "^\n" "" text "${text}")
    set(${out} "${text}" PARENT_SCOPE)
endfunction()

mortise_read_script(lock "${folder}/lock.lua")
set(definitions)
foreach(script IN LISTS scripts)
    cmake_path(GET script STEM name)
    mortise_read_script(body "${script}")
    set(quick)
    if(EXISTS "${folder}/${name}_quick.lua")
        mortise_read_script(quick "${folder}/${name}_quick.lua")
    endif()
    set(text "${quick}${lock}${body}")
    string(SHA1 sha "${text}")
    string(APPEND definitions
        "const Script ${name}{\"${name}\", \"${sha}\", R\"lua(${text})lua\"};\n")
endforeach()
set(mortise_redis_scripts "${PROJECT_BINARY_DIR}/generated/redis_scripts.cpp")
file(CONFIGURE OUTPUT "${mortise_redis_scripts}" @ONLY CONTENT [[
// SPDX-License-Identifier: MIT
// Generated of src/redis/scripts: do not edit.
#include "redis/scripts.hpp"

namespace mortise::redis::scripts {

@definitions@
}  // namespace mortise::redis::scripts
]])
