# SPDX-License-Identifier: MIT
# Makes C++ of the Lua scripts of src/redis/scripts and src/redlock/scripts, without comments and
# indentation, with the SHA-1 by which the server calls them. A script includes the parts that it
# needs, of the folder part, by "-- include: X.lua". The scripts of keys are in the folder once.
# Those of src/redis have a second form, for a cluster: see mortise_script_of_cluster().
function(mortise_read_script out file)
    file(READ "${file}" text)
    string(REGEX REPLACE "/scripts/.*" "/scripts/part" parts "${file}")
    # A part may include others.
    while(text MATCHES "-- include: ([a-z_]+\\.lua)")
        set(part "${CMAKE_MATCH_1}")
        file(READ "${parts}/${part}" part_text)
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${parts}/${part}")
        string(REPLACE "-- include: ${part}" "${part_text}" text "${text}")
    endwhile()
    string(REGEX REPLACE "(^|\n)[ ]*--[^\n]*" "\\1" text "${text}")
    string(REGEX REPLACE "[ ]+-- [^\n]*" "" text "${text}")
    string(REGEX REPLACE "\n[ \n]+" "\n" text "${text}")
    string(REGEX REPLACE "^\n" "" text "${text}")
    set(${out} "${text}" PARENT_SCOPE)
endfunction()

# In a cluster whoever waits is told by a sharded channel in the slot of what it waits for, which only its
# servers pass on: a plain one is sent to every server there is, for the clients of each. The channel has the hash tag
# of the key behind the client. All keys of a call have one.
# That form is written down nowhere: the library makes it by the same two replacements when a server has to be sent
# it, and only by which name the server calls it is known from here. A switch in the scripts would cost each run of
# them on one server.
set(mortise_script_plain "'PUBLISH'" "string.sub(attempt, 1, 16)")
set(mortise_script_sharded "'SPUBLISH'" "string.sub(attempt, 1, 16) .. string.match(KEYS[1], '{.*}')")
function(mortise_script_of_cluster out text)
    foreach(plain sharded IN ZIP_LISTS mortise_script_plain mortise_script_sharded)
        string(REPLACE "${plain}" "${sharded}" text "${text}")
    endforeach()
    set(${out} "${text}" PARENT_SCOPE)
endfunction()

# @param folder "once/", or nothing: also the namespace that it is declared in
function(mortise_script_definition out folder script)
    cmake_path(GET script STEM name)
    mortise_read_script(text "${script}")
    string(SHA1 sha "${text}")
    string(REPLACE "/" "::" namespace "${folder}")
    set(definition
        "const redis::Script ${namespace}${name}{\"${folder}${name}\", \"${sha}\", R\"lua(${text})lua\"")
    if(clustered)
        mortise_script_of_cluster(text "${text}")
        string(SHA1 sha "${text}")
        string(APPEND definition ", \"${sha}\"")
    endif()
    set(${out} "${definition}};\n" PARENT_SCOPE)
endfunction()

# Writes generated/<backend>_scripts.cpp.
function(mortise_script_source out backend)
    set(folder "${PROJECT_SOURCE_DIR}/src/${backend}/scripts")
    string(COMPARE EQUAL "${backend}" redis clustered)
    file(GLOB scripts CONFIGURE_DEPENDS "${folder}/*.lua")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${scripts})
    set(definitions)
    foreach(script IN LISTS scripts)
        mortise_script_definition(definition "" "${script}")
        string(APPEND definitions "${definition}")
    endforeach()
    file(GLOB scripts CONFIGURE_DEPENDS "${folder}/once/*.lua")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${scripts})
    foreach(script IN LISTS scripts)
        mortise_script_definition(definition once/ "${script}")
        string(APPEND definitions "${definition}")
    endforeach()
    if(clustered)
        string(APPEND definitions "const std::array<redis::ScriptReplacement, 2> of_cluster{{\n")
        foreach(plain sharded IN ZIP_LISTS mortise_script_plain mortise_script_sharded)
            string(APPEND definitions "    {R\"lua(${plain})lua\", R\"lua(${sharded})lua\"},\n")
        endforeach()
        string(APPEND definitions "}};\n")
    endif()
    file(GLOB_RECURSE header RELATIVE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/src/${backend}/scripts.hpp")
    set(source "${PROJECT_BINARY_DIR}/generated/${backend}_scripts.cpp")
    file(CONFIGURE OUTPUT "${source}" @ONLY CONTENT [[
// SPDX-License-Identifier: MIT
// Generated of src/@backend@/scripts: do not edit.
#include "@header@"

namespace mortise::@backend@::scripts {

@definitions@
}  // namespace mortise::@backend@::scripts
]])
    set(${out} "${source}" PARENT_SCOPE)
endfunction()
