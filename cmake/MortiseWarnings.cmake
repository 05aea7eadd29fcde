# SPDX-License-Identifier: MIT
# The warnings that every target of this project is compiled with. They stay PRIVATE, and become
# errors only through the presets: a user's compiler must never fail on a warning of ours.
include_guard(GLOBAL)

function(mortise_warnings target)
    target_compile_options(${target} PRIVATE
        -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast
        -Wnon-virtual-dtor -Woverloaded-virtual)
    set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
endfunction()
