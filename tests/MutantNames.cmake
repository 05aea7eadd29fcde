# SPDX-License-Identifier: MIT
# The names of the mutants in the library's source, as a list of string literals: whoever writes
# base::mutant("redis.some_mistake") has it looked for.
file(GLOB_RECURSE sources "${PROJECT_SOURCE_DIR}/src/*.cpp" "${PROJECT_SOURCE_DIR}/src/*.hpp")
set(names)
foreach(source IN LISTS sources)
    file(STRINGS "${source}" lines REGEX "mutant\\(\"[a-z]+\\.")
    foreach(line IN LISTS lines)
        string(REGEX MATCHALL "mutant\\(\"[a-z_.0-9]+\"" found "${line}")
        list(TRANSFORM found REPLACE "mutant\\(" "")
        list(APPEND names ${found})
    endforeach()
endforeach()
list(REMOVE_DUPLICATES names)
list(SORT names)
list(TRANSFORM names REPLACE "(.+)" "    std::string_view(\\1)")
list(JOIN names ",\n" text)
file(CONFIGURE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/generated/mutant_names.inc" CONTENT "${text}\n" @ONLY)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${sources})
