# SPDX-License-Identifier: MIT
# The warnings that every target of this project is compiled with. They stay PRIVATE, and become
# errors only through the presets: a user's compiler must never fail on a warning of ours.
include_guard(GLOBAL)

function(mortise_warnings target)
    target_compile_options(${target} PRIVATE
        -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast
        -Wnon-virtual-dtor -Woverloaded-virtual)
    # GCC 12 at -O3 sees overlapping copies in `"text" + std::string()`: its bug 105651, mended in 13.
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 12
            AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
        target_compile_options(${target} PRIVATE -Wno-restrict)
    endif()
    if(CMAKE_UNITY_BUILD)
        mortise_warnings_in_batches(${target})
    endif()
    set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
endfunction()

# Compiles `size` sources of the target at a time. Most of the time that a source takes is that of the
# headers of the standard library.
function(mortise_in_batches target size)
    if(MORTISE_UNITY AND NOT CMAKE_UNITY_BUILD)
        set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${size})
        mortise_warnings_in_batches(${target})
    endif()
endfunction()

# Several sources are one there: private names of one meet locals of the next, and for GCC what was included
# is no header any more.
function(mortise_warnings_in_batches target)
    target_compile_options(${target} PRIVATE -Wno-shadow $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endfunction()

# GCC 12 that optimises complains of std::string's own code if that comes from a precompiled header.
function(mortise_warnings_precompiled target)
    target_compile_options(${target} PRIVATE
        "$<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread>")
endfunction()
